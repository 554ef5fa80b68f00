// Statements beside curves.
#include <algorithm>
#include <cstdio>

#include "tools/papers/paper.h"

namespace tutti::tools::papers {
namespace {

// key@x, or the largest of a curve. False: it was not measured.
bool value_at(const measured& m, const std::string& what, double& out) {
  const auto at = what.rfind('@');
  const curve_of* c = m.find(what.substr(0, at));
  if (!c || c->at.empty()) return false;
  if (at == what.npos) {
    out = 0;
    for (const auto& [x, y] : c->at) out = std::max(out, y);
    return true;
  }
  const auto found = c->at.find(std::stod(what.substr(at + 1)));
  if (found == c->at.end()) return false;
  out = found->second;
  return true;
}

bool largest_ratio(const measured& m, const statement& s, verdict& v) {
  const curve_of *a = m.find(s.of[0]), *b = m.find(s.of[1]);
  if (!a || !b) return false;
  double at = 0;
  for (const auto& [x, y] : a->at)
    if (const auto other = b->at.find(x); other != b->at.end() && y / other->second > v.ours) v.ours = y / other->second, at = x;
  v.detail = "at " + std::to_string(static_cast<long>(at));
  return v.ours > 0;
}

}  // namespace

std::vector<verdict> judge(const std::vector<statement>& all, const measured& m, bool same_machine) {
  std::vector<verdict> out;
  for (const statement& s : all) {
    verdict v{.of = &s, .calibrates = s.calibrates && same_machine};
    std::vector<double> values(s.of.size());
    bool known = true;
    for (std::size_t i = 0; i < s.of.size(); ++i) known = value_at(m, s.of[i], values[i]) && known;
    switch (s.is) {
      case statement::kind::value: v.measured = known && same_machine, v.ours = values[0]; break;
      case statement::kind::ratio: v.measured = known, v.ours = values[0] / values[1]; break;
      case statement::kind::gain: v.measured = known, v.ours = 100 * (1 - values[1] / values[0]); break;
      case statement::kind::rise: v.measured = known, v.ours = 100 * (values[1] / values[0] - 1); break;
      case statement::kind::most: v.measured = largest_ratio(m, s, v); break;
      case statement::kind::order:
        v.measured = known, v.holds = true;
        for (std::size_t i = 0; i < values.size(); ++i) {
          v.holds = v.holds && (i == 0 || values[i - 1] < values[i]);
          char text[32];
          std::snprintf(text, sizeof text, "%s%.4g", i ? " < " : "", values[i]);
          v.detail += text;
        }
        if (!v.holds) std::ranges::replace(v.detail, '<', ',');
        break;
    }
    out.push_back(std::move(v));
  }
  return out;
}

}  // namespace tutti::tools::papers
