// Numbers from chunks: a chunk is some iterations timed together, long against the clock and short against the
// scheduler, so that the median of many chunks survives the milliseconds in which somebody else had the core.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
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

// Where a quantity reaches a value for good: of points (x, y) by growing x, the x from which on no y is below `wanted`, on the line
// between the last point below it and the next. Before the first point stands (0, 0). None: the last point is below it.
inline std::optional<double> kept_from(std::span<const std::pair<double, double>> points, double wanted) {
  std::pair<double, double> below{0, 0};
  std::size_t next = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (points[i].second < wanted) below = points[i], next = i + 1;
  if (next == points.size()) return {};
  const auto& [x, y] = points[next];
  return below.first + (x - below.first) * (wanted - below.second) / (y - below.second);
}

class series {
 public:
  void add(double value) { values_.push_back(value); }
  std::size_t count() const noexcept { return values_.size(); }
  double at(std::size_t i) const { return values_[i]; }  // in the order of add()
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
