// Which job ranks form a group, in the group's order, and back. A run of ranks with a constant stride costs no memory, so the
// world of 10,000 ranks is three words. An arbitrary list is shared between copies, with a table of its inverse: 52 bytes at
// most a member, however large the job is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/id_map.h"
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
    m.list_ = std::make_shared<const list>(std::move(ranks));
    return m;
  }
  std::uint32_t size() const noexcept { return count_; }
  rank_t operator[](std::uint32_t i) const noexcept { return list_ ? list_->ranks[i] : first_ + i * stride_; }
  // The index of a job rank in the group, the first one if the rank is listed twice, or size() if it is no member. O(1).
  std::uint32_t index_of(rank_t rank) const noexcept {
    if (list_) return list_->indices.get(rank, count_);
    if (rank < first_) return count_;
    const rank_t d = rank - first_;
    return (stride_ && d % stride_ == 0 && d / stride_ < count_) ? d / stride_ : (d == 0 && count_ ? 0 : count_);
  }

 private:
  struct list {
    explicit list(std::vector<rank_t> all) : ranks(std::move(all)) {
      for (std::uint32_t i = 0; i < ranks.size(); ++i) {
        if (indices.contains(ranks[i])) continue;
        indices.reserve_one();
        indices.set(ranks[i], i);
      }
    }
    std::vector<rank_t> ranks;
    id_map<rank_t> indices;
  };

  rank_t first_ = 0, stride_ = 1;
  std::uint32_t count_ = 0;
  std::shared_ptr<const list> list_;
};

}  // namespace tutti
