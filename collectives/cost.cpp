#include "collectives/cost.h"

#include <cmath>

namespace tutti {
namespace {

// For each rank that shares the core. Flat counter on 2 cores with yielding waits: 1.6, 4.5 and 13 us for 2, 4 and 8 ranks
// a core, which is 1.5 to 1.9 us a neighbour.
constexpr double turn_us_per_neighbour = 1.6;

}  // namespace

picoseconds in_picoseconds(double us) noexcept { return us > 0 ? std::llround(us * 1e6) : 0; }

link_cost in_picoseconds(const loggp& c) noexcept {
  return {in_picoseconds(c.latency_us), in_picoseconds(c.overhead_us), in_picoseconds(c.gap_us)};
}

double turn_us(double ranks_per_core) noexcept {
  return ranks_per_core > 1 ? (ranks_per_core - 1) * turn_us_per_neighbour : 0;
}

}  // namespace tutti
