// Numbers from chunks: a chunk is some iterations timed together, long against the clock and short against the
// scheduler, so that the median of many chunks survives the milliseconds in which somebody else had the core.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <vector>

namespace tutti::tools {

inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

inline double geometric_mean(std::span<const double> all) {  // 0: of none
  double sum = 0;
  for (const double x : all) sum += std::log(x);
  return all.empty() ? 0 : std::exp(sum / static_cast<double>(all.size()));
}

class series {
 public:
  void add(double value) { values_.push_back(value); }
  std::size_t count() const noexcept { return values_.size(); }
  double quantile(double q) const {
    if (values_.empty()) return 0;
    std::vector<double> v = values_;
    const auto k = static_cast<std::ptrdiff_t>(q * static_cast<double>(v.size() - 1) + 0.5);
    std::nth_element(v.begin(), v.begin() + k, v.end());
    return v[static_cast<std::size_t>(k)];
  }
  double median() const { return quantile(0.5); }
  series first(std::size_t n) const {
    series some;
    some.values_.assign(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(std::min(n, values_.size())));
    return some;
  }

 private:
  std::vector<double> values_;
};

// How often to do a thing so that it takes `wanted` seconds, by doing it more and more often: at least a quarter of them,
// or `most` times. `took` does it that often and gives the seconds.
template <class Took>
int times_for(double wanted, int least, int most, Took took) {
  for (int times = least;; times = std::min(4 * times, most)) {
    const double seconds = took(times);
    if (seconds >= wanted / 4 || times >= most)
      return static_cast<int>(std::clamp(times * wanted / std::max(seconds, 1e-7), double(least), double(most)));
  }
}

}  // namespace tutti::tools
