// From which size on a message travels by which protocol: one place, from what all ranks agree on (core/transport/facts.h), so both ends of a
// pair reckon alike.
//
// Eager or rendezvous. An eager message is copied once more at each end (into the fabric's buffers, and out of them or of what is kept),
// and a rendezvous takes one round trip more, 2 (L + 2 o), before the data move, and a microsecond of bookkeeping at the two ends. So a
// rendezvous pays from the size on whose copy takes as long as these. What one message of the fabric carries is eager at any rate, and more than 64 KiB, a quarter of what
// is kept of a sender, never.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/transport/facts.h"
#include "core/transport/two_sided.h"

namespace tutti::messaging {

inline constexpr std::uint32_t longest_eager = 64 * 1024;
// Between memories of a node that only their owners map, the kernel copies once (process_vm_readv) where staging memory copies twice. It
// takes a microsecond and looks up each page, so short data are faster through staging memory.
inline constexpr std::uint64_t copied_by_kernel_from = 48 * 1024;
inline constexpr double copy_bytes_per_us = 8000;  // of a copy between caches
inline constexpr double bookkeeping_us = 1;

constexpr std::uint32_t eager_limit(const loggp& cost, const two_sided::limits& limits) noexcept {
  const double more_us = 2 * (cost.latency_us + 2 * cost.overhead_us) + bookkeeping_us;
  const double bytes = std::clamp(more_us * copy_bytes_per_us, 0.0, double{longest_eager});
  return std::min(longest_eager, std::max(static_cast<std::uint32_t>(bytes), limits.max_payload));
}

}  // namespace tutti::messaging
