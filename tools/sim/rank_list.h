// Numbers of ranks as a command line gives them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tutti::tools {

// "10000", "2,4,8", "2..65536" (doubling, and the end itself), or several of these by commas. In the order given, each once.
// `invalid`: what is wrong with it, and how to write it.
result<std::vector<std::uint32_t>> parse_ranks(const std::string& text, std::uint32_t most);

}  // namespace tutti::tools
