#include "tools/perf/words.h"

#include <cmath>
#include <cstdio>
#include <initializer_list>

namespace tutti::tools {
namespace {

std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  auto unit = units.begin();
  for (; unit + 1 != units.end() && value >= step; ++unit) value /= step;
  char text[48];
  std::snprintf(text, sizeof text, value < 1000 ? "%.3g %s" : "%.0f %s", value, *unit);
  return text;
}

}  // namespace

std::string short_number(double v) {
  char text[32];
  const double size = std::fabs(v);
  std::snprintf(text, sizeof text, size >= 100 ? "%.0f" : size >= 10 ? "%.1f" : size >= 0.1 || size == 0 ? "%.2f" : "%.2g", v);
  return text;
}

std::string short_bytes(double bytes) { return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB"}); }
std::string short_time(double ns) { return scaled(ns, 1000, {"ns", "µs", "ms", "s"}); }

std::string percent(double share) {
  if (!std::isfinite(share)) return "-";  // of nothing
  char text[24];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace tutti::tools
