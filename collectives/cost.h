// What the choosers of all collectives reckon with: LogGP in whole picoseconds, so that every rank of a team computes the
// same number whatever its compiler does to doubles.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>

#include "core/transport/transfer_costs.h"

namespace tutti {

using picoseconds = std::int64_t;

// loggp in picoseconds.
struct link_cost {
  picoseconds latency = 0, overhead = 0, gap = 0;
  double bytes_per_ns = 0;
  picoseconds interval() const noexcept { return overhead > gap ? overhead : gap; }  // between messages of one rank
  picoseconds message() const noexcept { return latency + 2 * overhead; }
};
link_cost in_picoseconds(const loggp&) noexcept;
picoseconds in_picoseconds(double us) noexcept;
picoseconds for_bytes(std::uint64_t bytes, double bytes_per_ns) noexcept;  // 0 bytes per ns: no time

// What a team's calls cost, and its transport can do. Equal in all ranks of the team, bit for bit. The numbers given here are
// priors; what was measured replaces them (collectives/tuning/calibration.h).
struct costs : transfer_costs {
  std::optional<double> multicast_us;            // from the root's send until the last rank has it; none: one and a half messages
  std::optional<double> multicast_bytes_per_ns;  // one sender's full datagrams; none: the link's
  std::uint32_t fragment = 0;      // bytes of a datagram; 0: there is no multicast of payload
  std::uint32_t window = 1;        // datagrams of payload under way at once
  double reduced_bytes_per_ns = 5; // likewise, of the sum of two buffers into one of them
  double ranks_per_core = 1;       // on the fullest node; above 1, its ranks have its cores in turn
  bool native_atomics = true;      // false: the counter's owner works for each addition
  bool target_works = true;        // whoever takes a message in works o for it; false: the fabric puts it into memory
  bool mapped = false;             // every rank of a node reaches its mates by load and store
  std::uint32_t message_bytes = 0; // a longer put goes as several messages, in whole cache lines; 0: none does

  double turn_us() const noexcept { return transfer_costs::turn_us(ranks_per_core); }
};

// The same for calls in which the ranks of a core touch so many bytes: with the rates at which it copies and sums these, between
// those of its own cache, up to 512 KiB, and those beyond, from 16 MiB on.
costs for_data_of(costs, std::uint64_t touched) noexcept;

// ceil(log2 n); 0 for n <= 1.
constexpr std::uint32_t rounds_of(std::uint32_t n) noexcept {
  return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace tutti
