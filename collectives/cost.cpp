#include "collectives/cost.h"

#include <algorithm>
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

costs for_data_of(costs c, std::uint64_t touched) noexcept {
  constexpr int own_cache = 19, beyond = 24;  // log2 of bytes
  if (c.cached_bytes_per_ns <= c.copied_bytes_per_ns || c.copied_bytes_per_ns <= 0) return c;
  const int octaves = std::clamp(beyond - std::ilogb(std::max(1.0, static_cast<double>(touched))), 0, beyond - own_cache);
  const double most = c.cached_bytes_per_ns / c.copied_bytes_per_ns, faster = 1 + (most - 1) * octaves / (beyond - own_cache);
  c.copied_bytes_per_ns *= faster, c.reduced_bytes_per_ns *= faster, c.fetched_bytes_per_ns *= faster;
  if (c.mapped) c.node.bytes_per_ns *= faster / most;  // which is measured with data that stay in caches
  return c;
}

}  // namespace tutti
