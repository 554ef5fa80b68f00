// Costs, limits and abilities of the ranks' transports, as all ranks of a job agree on them; the engines choose by these. The
// transports of two ranks may differ (two adapters of unlike speed, a trial that failed in one rank). A rank that chose by its
// own transport might choose otherwise than its peers, and wait for messages that nobody sends. So all ranks exchange their
// facts when the job is made, and choose by what holds for all.
#pragma once
#include <cstdint>

#include "core/transport/transport.h"

namespace tutti {

// What travels as bytes has this in place of an empty std::optional.
inline constexpr double not_known = -1;
constexpr std::optional<double> if_known(double value) noexcept { return value < 0 ? std::nullopt : std::optional(value); }

// Bytes of a region's key that engines hand to peers in what has a fixed size.
inline constexpr std::size_t longest_key = 240;

struct fabric_facts {
  loggp network, node;                     // the highest costs; node: inside a node
  double multicast_us = not_known;           // multicast::limits::latency_us; before all are connected it may be unknown
  std::uint64_t max_bytes = 0;             // the least
  std::uint32_t network_message = 0, node_message = 0;  // capabilities::message_bytes, the least; node: inside a node
  std::uint32_t target_must_progress = 0;  // 1: in some rank
  std::uint32_t native_atomics = 0;        // 1: in all ranks; so too maps_node
  std::uint32_t maps_node = 0;
  std::uint32_t kernel_copies = 0;         // likewise
  std::uint32_t exposes_any = 0;           // likewise: peers can get from whatever memory a rank has, without a registration that is kept
};

// Whether a fabric may have such values: what a peer tells, or a file, is checked before any use. Times are 0 to 1e6 microseconds; a
// bandwidth is 1e-6 to 1e6 bytes a nanosecond, or 0 where bytes take no time.
bool plausible_us(double us) noexcept;
bool plausible_rate(double bytes_per_ns) noexcept;
bool plausible(const fabric_facts&) noexcept;

fabric_facts facts_of(transport&);              // of this rank alone
void agree(fabric_facts&, const fabric_facts& another) noexcept;  // becomes what holds for both; commutative

}  // namespace tutti
