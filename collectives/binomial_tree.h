// The binomial tree over n positions, 0 at the root: position v has the children v + 2^j for 2^j below its lowest bit (of 0: below
// n), and child v + 2^j a subtree of the 2^j positions from its own on, or as many as there are.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "collectives/cost.h"

namespace tutti {

class binomial_tree {
 public:
  binomial_tree(std::uint32_t position, std::uint32_t n) noexcept : position_(position), n_(n) {}

  // The child 2^j on is there for j below this.
  std::uint32_t children() const noexcept {
    const std::uint32_t below = level();
    std::uint32_t j = 0;
    while (j < below && std::uint64_t{position_} + (std::uint64_t{1} << j) < n_) ++j;
    return j;
  }
  // This position is 2^level() behind its parent.
  std::uint32_t level() const noexcept { return position_ == 0 ? rounds_of(n_) : static_cast<std::uint32_t>(std::countr_zero(position_)); }
  // Positions in this one's subtree, and in that of the child 2^j on.
  std::uint32_t subtree() const noexcept { return std::min<std::uint32_t>(n_ - position_, position_ == 0 ? n_ : position_ & -position_); }
  std::uint32_t subtree_of_child(std::uint32_t j) const noexcept {
    return std::min(std::uint32_t{1} << j, n_ - position_ - (std::uint32_t{1} << j));
  }

 private:
  std::uint32_t position_, n_;
};

}  // namespace tutti
