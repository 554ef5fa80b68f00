// Which job ranks form a group, in the group's order. A run of ranks with a constant stride costs no memory, so the
// world of 10,000 ranks is three words; an arbitrary list is shared between copies.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"

namespace tutti {

class rank_map {
 public:
  rank_map() = default;
  static rank_map strided(rank_t first, std::uint32_t count, rank_t stride = 1) {
    rank_map m;
    m.first_ = first, m.stride_ = stride, m.count_ = count;
    return m;
  }
  static rank_map listed(std::vector<rank_t> ranks) {
    rank_map m;
    m.count_ = static_cast<std::uint32_t>(ranks.size());
    m.list_ = std::make_shared<const std::vector<rank_t>>(std::move(ranks));
    return m;
  }
  std::uint32_t size() const noexcept { return count_; }
  rank_t operator[](std::uint32_t i) const noexcept { return list_ ? (*list_)[i] : first_ + i * stride_; }
  // Index of a job rank in the group, or size() if it is no member. O(1) for a stride, else O(size).
  std::uint32_t index_of(rank_t rank) const noexcept {
    if (!list_) {
      if (rank < first_) return count_;
      const rank_t d = rank - first_;
      return (stride_ && d % stride_ == 0 && d / stride_ < count_) ? d / stride_ : (d == 0 && count_ ? 0 : count_);
    }
    for (std::uint32_t i = 0; i < count_; ++i)
      if ((*list_)[i] == rank) return i;
    return count_;
  }

 private:
  rank_t first_ = 0, stride_ = 1;
  std::uint32_t count_ = 0;
  std::shared_ptr<const std::vector<rank_t>> list_;
};

}  // namespace tutti
