// Quantities as a reader likes them.
#pragma once
#include <string>

namespace tutti::tools {

std::string time_text(double ns);      // "3.2 ms"
std::string bytes_text(double bytes);  // "12 KiB"
std::string percent(double share);     // "41 %"

}  // namespace tutti::tools
