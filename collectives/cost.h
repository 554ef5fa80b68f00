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
  picoseconds latency, overhead, gap;
  picoseconds interval() const noexcept { return overhead > gap ? overhead : gap; }  // between messages of one rank
  picoseconds message() const noexcept { return latency + 2 * overhead; }
};
link_cost in_picoseconds(const loggp&) noexcept;
picoseconds in_picoseconds(double us) noexcept;

// What a rank loses each time it waits, until it has its core back; 0: a core of its own.
double turn_us(double ranks_per_core) noexcept;

// ceil(log2 n); 0 for n <= 1.
constexpr std::uint32_t rounds_of(std::uint32_t n) noexcept {
  return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}

}  // namespace tutti
