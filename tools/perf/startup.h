// `tutti perf startup`.
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace tutti::tools {

// Declares the subcommand upon `perf`; the result runs it.
std::function<int()> declare_startup(CLI::App& perf);

}  // namespace tutti::tools
