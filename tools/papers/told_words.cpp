#include "tools/papers/told_words.h"

#include <cstdio>

namespace tutti::tools::papers {
namespace {

std::string number(double v, const std::string& unit) {
  const double size = v < 0 ? -v : v;
  return printed(size >= 1000 ? "%.0f" : size >= 100 ? "%.1f" : "%.3g", v) + (unit == "x" ? "" : " " + unit);
}

}  // namespace

std::string printed(const char* format, double v) {
  char text[48];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

said words_of(const verdict& v) {
  const statement& s = *v.of;
  if (s.is == statement::kind::order) return {"in this order", v.measured ? v.detail : "-", v.measured ? (v.holds ? "holds" : "does not hold") : "-"};
  if (!v.measured) return {number(s.paper, s.unit), "-", "-"};
  return {number(s.paper, s.unit), number(v.ours, s.unit) + (v.detail.empty() ? "" : " " + v.detail),
          v.calibrates ? printed("%+.1f %%, calibrated", 100 * v.deviation()) : printed("%+.1f %%", 100 * v.deviation())};
}

std::string cause_of(const verdict& v) { return v.of->cause.empty() ? "the cause is not known" : v.of->cause; }

}  // namespace tutti::tools::papers
