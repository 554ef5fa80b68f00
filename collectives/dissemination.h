// The partners of a dissemination among n ranks (Mellor-Crummey & Scott 1991, 3.3), for whoever goes its rounds: in round m,
// of ceil(log2 n) (rounds_of), rank i sends to i + 2^m and takes from i - 2^m, both modulo n.
#pragma once
#include <cstdint>

#include "collectives/cost.h"
#include "core/schedule/schedule.h"

namespace tutti {

struct dissemination_round {
  std::uint32_t distance, to, from;
};

constexpr dissemination_round dissemination_partners(std::uint32_t rank, std::uint32_t n, std::uint32_t round) noexcept {
  const std::uint64_t distance = std::uint64_t{1} << round;
  return {static_cast<std::uint32_t>(distance), static_cast<std::uint32_t>((rank + distance) % n),
          static_cast<std::uint32_t>((rank + n - distance) % n)};
}

// A barrier by it, over lines `first` to `first` + rounds_of(n) - 1.
inline void add_barrier(schedule& out, std::uint32_t rank, std::uint32_t n, std::uint32_t first) {
  for (std::uint32_t round = 0; round < rounds_of(n); ++round) {
    const auto with = dissemination_partners(rank, n, round);
    out.signal(with.to, first + round);
    out.wait(with.from, first + round);
  }
}

}  // namespace tutti
