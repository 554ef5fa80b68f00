#include "tools/sim/figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tutti::tools {

spread spread_of(std::vector<float>& samples) {
  spread s;
  s.samples = samples.size();
  if (samples.empty()) return s;
  s.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
  auto from = samples.begin();
  const auto at = [&](double part) {
    const auto i = static_cast<std::ptrdiff_t>(std::max(0.0, std::ceil(part * static_cast<double>(samples.size())) - 1));
    std::nth_element(from, samples.begin() + i, samples.end());
    from = samples.begin() + i;
    return static_cast<double>(samples[static_cast<std::size_t>(i)]);
  };
  s.least = at(0), s.p25 = at(0.25), s.p50 = at(0.5), s.p75 = at(0.75), s.p90 = at(0.9), s.p99 = at(0.99), s.most = at(1);
  return s;
}

}  // namespace tutti::tools
