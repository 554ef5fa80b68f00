// Numbers and names as people read them.
#pragma once
#include <string>

#include "tools/perf/report.h"

namespace tutti::tools {

std::string short_number(double);                        // three digits or so: "0.83", "12.4", "1530"
std::string short_bytes(double bytes);                   // "8 B", "2 KiB", "4 MiB"
std::string short_time(double ns);                       // "7 ns", "3.2 ms"
std::string percent(double share);                       // "41 %"
std::string base_name(const std::string& path);          // what stands behind the last /

}  // namespace tutti::tools
