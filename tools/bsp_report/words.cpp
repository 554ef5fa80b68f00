#include "tools/bsp_report/words.h"

#include <cstdio>

namespace tutti::tools {
namespace {

std::string scaled(double value, double step, const char* const* units, int count) {
  int unit = 0;
  while (unit + 1 < count && value >= step) value /= step, ++unit;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", value < 10 && unit > 0 ? 1 : 0, value, units[unit]);
  return text;
}

}  // namespace

std::string time_text(double ns) {
  static const char* const units[] = {"ns", "µs", "ms", "s"};
  return scaled(ns, 1000, units, 4);
}

std::string bytes_text(double bytes) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  return scaled(bytes, 1024, units, 4);
}

std::string percent(double share) {
  char text[24];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

}  // namespace tutti::tools
