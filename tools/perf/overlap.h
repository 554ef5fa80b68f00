// `tutti perf overlap`.
#pragma once
#include <functional>

#include "tools/options.h"

namespace tutti::tools {

// Declares the subcommand upon `perf`; the result runs it.
std::function<int()> declare_overlap(options perf);

}  // namespace tutti::tools
