#include "collectives/cost.h"

#include <cmath>

namespace tutti {
picoseconds in_picoseconds(double us) noexcept { return us > 0 ? std::llround(us * 1e6) : 0; }

link_cost in_picoseconds(const loggp& c) noexcept {
  return {in_picoseconds(c.latency_us), in_picoseconds(c.overhead_us), in_picoseconds(c.gap_us), c.bytes_per_ns};
}

// 64 KiB at a time: finer numbers would be lost to rounding where bandwidth is high.
picoseconds for_bytes(std::uint64_t bytes, double bytes_per_ns) noexcept {
  if (bytes_per_ns <= 0) return 0;
  const picoseconds unit = std::llround(65536e3 / bytes_per_ns);
  return static_cast<picoseconds>(bytes >> 16) * unit + static_cast<picoseconds>(bytes & 0xffff) * unit / 65536;
}

}  // namespace tutti
