// What the choosers of all collectives reckon with: LogGP in whole picoseconds, so that every rank of a team computes the
// same number whatever its compiler does to doubles.
#pragma once
#include <bit>
#include <cstdint>

#include "core/transport/transport.h"

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

inline constexpr double copied_bytes_per_ns = 8;   // by a core, from one place in memory to another
inline constexpr double reduced_bytes_per_ns = 5;  // likewise, of the sum of two buffers into one of them

// What a team's calls cost, and its transport can do. Equal in all ranks of the team, bit for bit.
struct costs {
  loggp network;                   // between nodes
  loggp node;                      // inside a node
  double multicast_us = 0;         // from the root's send until the last rank has it; 0: unknown, one and a half messages
  double multicast_bytes_per_ns = 0;  // one sender's full datagrams; 0: unknown, the link's
  std::uint32_t fragment = 0;      // bytes of a datagram; 0: there is no multicast of payload
  std::uint32_t window = 1;        // datagrams of payload under way at once
  double turn_us = 0;              // lost by a rank that waits, until it has its core back; 0: a core of its own
  double ranks_per_core = 1;       // on the fullest node; above 1, the messages of its ranks queue for its cores
  bool native_atomics = true;      // false: the counter's owner works for each addition
  bool target_works = true;        // whoever takes a message in works o for it; false: the fabric puts it into memory
  bool mapped = false;             // every rank of a node reaches its mates by load and store
};

// What a rank loses each time it waits, until it has its core back; 0: a core of its own.
double turn_us(double ranks_per_core) noexcept;

// ceil(log2 n); 0 for n <= 1.
constexpr std::uint32_t rounds_of(std::uint32_t n) noexcept {
  return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace tutti
