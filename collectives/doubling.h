// Ranks that meet at distances 1, 2, 4, ... Where n is no power of two, the first ranks go through the rounds in pairs: of 2i and
// 2i + 1 the odd one acts for both. Who acts has a place, 0 to 2^rounds - 1, in the order of the ranks.
//
// The canonical order of a reduction is the tree of this header: first the ranks of each pair, then neighbouring groups of 1, 2,
// 4, ... places, lower ranks on the left. It depends on the number of ranks alone. All rows that are `canonical` add up each
// element along it, so they give the same bits, whatever the collective.
#pragma once
#include <bit>
#include <cstdint>

#include "core/schedule/schedule.h"

namespace tutti {

struct doubling {
  std::uint32_t rounds, pairs;  // pairs: of ranks 2i and 2i + 1 that go as one
  explicit doubling(std::uint32_t size) noexcept
      : rounds(static_cast<std::uint32_t>(std::bit_width(size)) - 1), pairs(size - (std::uint32_t{1} << rounds)) {}

  std::uint32_t places() const noexcept { return std::uint32_t{1} << rounds; }
  bool in_pair(std::uint32_t rank) const noexcept { return rank < 2 * pairs; }
  // It has no place: the next rank acts for it.
  bool stands_back(std::uint32_t rank) const noexcept { return in_pair(rank) && rank % 2 == 0; }
  std::uint32_t place_of(std::uint32_t rank) const noexcept { return in_pair(rank) ? rank / 2 : rank - pairs; }
  std::uint32_t rank_at(std::uint32_t place) const noexcept { return place < pairs ? 2 * place + 1 : place + pairs; }
  // The lowest rank that it acts for; of places(): the number of ranks.
  std::uint32_t first_of(std::uint32_t place) const noexcept { return place < pairs ? 2 * place : place + pairs; }
};

// Step that makes `theirs` the sum of both, where `mine` is of place `here` and theirs of `there`.
constexpr step_kind joining(std::uint32_t here, std::uint32_t there) noexcept {
  return here < there ? step_kind::reduce_left : step_kind::reduce_right;
}

}  // namespace tutti
