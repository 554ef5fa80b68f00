#include "tools/papers/figure.h"

#include <algorithm>

namespace tutti::tools::papers {

const curve_of* measured::find(const std::string& key) const {
  const auto found = std::ranges::find(curves, key, &curve_of::key);
  return found == curves.end() ? nullptr : &*found;
}

void measured::add(const std::string& key, const std::string& name, double x, double y) {
  if (y <= 0) return;
  auto found = std::ranges::find(curves, key, &curve_of::key);
  if (found == curves.end()) found = curves.insert(curves.end(), {key, name, {}});
  found->at[x] = y;
}

std::vector<const figure*> all_figures() {
  std::vector<const figure*> out;
  for (const auto* paper : {&kini_figures, &gupta_figures, &buntinas_figures, &huang_figures, &birk_figures})
    for (const figure& f : *paper) out.push_back(&f);
  return out;
}

}  // namespace tutti::tools::papers
