// What disturbs the processors of a simulated machine: detours of the operating system, and ranks that are slow.
//
// Detours. From time to time something else takes the processor of a rank: after a time that is distributed exponentially with
// mean `every_us`, for a time of the given distribution with mean `lasts_us`. A detour delays the work that it falls into by
// its whole length; of one that falls into a wait only what is left of it when the message comes counts (the two cases of
// Petrini, Kerbyson and Pakin 2003; the model is that of Hoefler, Schneider and Lumsdaine 2010). Of a Pareto distribution
// `shape` is the exponent: the closer to 1, the more of the time is in few long detours.
//
// Stragglers. A part of the ranks, picked by the seed, takes `factor` times as long for whatever its processor does.
//
// Every rank has random numbers of its own, so what disturbs it depends on the seed and its clock alone, and not on what others
// do.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "providers/sim/random.h"

namespace tutti::sim {

enum class distribution : std::uint8_t { constant, uniform, exponential, pareto };
inline constexpr std::string_view distribution_names[] = {"constant", "uniform", "exponential", "pareto"};

struct noise_parameters {
  double every_us = 0;                        // between two detours, on average; 0: there are none
  double lasts_us = 0;                        // of one, on average
  distribution kind = distribution::exponential;
  double shape = 2;                           // of pareto, more than 1
  double stragglers = 0, factor = 2;          // the part of the ranks that are slow, and how slow
  bool operator==(const noise_parameters&) const = default;
};

// With this mean.
inline double drawn(random& r, distribution d, double mean, double shape) noexcept {
  const double u = 1 - r.unit();  // (0, 1]
  switch (d) {
    case distribution::constant: return mean;
    case distribution::uniform: return 2 * mean * u;
    case distribution::exponential: return -mean * std::log(u);
    case distribution::pareto: return mean * (shape - 1) / shape * std::pow(u, -1 / shape);
  }
  return mean;
}

// The detours of one rank, in ns of its clock.
class disturbance {
 public:
  disturbance(const noise_parameters& p, std::uint64_t seed, std::uint32_t rank) noexcept
      : numbers_(seed ^ (0xd1b54a32d192ed03u * (rank + 1))), slow_(numbers_.chance(p.stragglers)) {
    next_ = gap(p);
  }
  bool slow() const noexcept { return slow_; }
  // When work that began at `from` and takes until `to` ends; from == to: a rank that waited goes on then.
  std::int64_t after(const noise_parameters& p, std::int64_t from, std::int64_t to) noexcept {
    if (p.every_us <= 0) return to;
    while (next_ <= to) {
      const auto lasts = static_cast<std::int64_t>(1000 * drawn(numbers_, p.kind, p.lasts_us, p.shape) + 0.5);
      if (next_ >= from && from < to) to += lasts;
      else to = std::max(to, next_ + lasts);
      next_ += lasts + gap(p);
    }
    return to;
  }

 private:
  std::int64_t gap(const noise_parameters& p) noexcept {
    return 1 + static_cast<std::int64_t>(1000 * drawn(numbers_, distribution::exponential, p.every_us, 2));
  }
  random numbers_;
  std::int64_t next_ = 0;
  bool slow_;
};

}  // namespace tutti::sim
