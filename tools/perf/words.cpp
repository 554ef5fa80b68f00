#include "tools/perf/words.h"

#include <cmath>
#include <cstdio>

namespace tutti::tools {

std::string short_number(double v) {
  char text[32];
  const double size = std::fabs(v);
  std::snprintf(text, sizeof text, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 0.1 || size == 0 ? "%.2f" : "%.2g", v);
  return text;
}

std::string short_bytes(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", bytes, unit);
  return text;
}

std::string abscissa(axis along, double x) {
  return along == axis::bytes ? short_bytes(x) : short_number(x) + (along == axis::microseconds ? " us" : "");
}

}  // namespace tutti::tools
