// A map from ids to ids: from those of one transport to those of another, or from ranks to indices. Read for every
// operation and written at set-up, so it is an open hash table: the ids need not be dense, and a hit is one multiplication and
// one cache line.
#pragma once
#include <cstdint>
#include <vector>

namespace tutti {

template <class Id>
class id_map {
 public:
  // An id that is not in the map gives itself: unregistered_memory is the same to everyone.
  Id operator[](Id from) const noexcept { return get(from, from); }
  Id get(Id from, Id otherwise) const noexcept {
    for (std::uint32_t i = home(from);; i = (i + 1) & mask_) {
      if (!slots_[i].used) return otherwise;
      if (slots_[i].from == from) return slots_[i].to;
    }
  }
  bool contains(Id from) const noexcept {
    std::uint32_t i = home(from);
    while (slots_[i].used && slots_[i].from != from) i = (i + 1) & mask_;
    return slots_[i].used;
  }
  std::size_t size() const noexcept { return size_; }

  // Makes room for one more, so that the next set() cannot fail.
  void reserve_one() {
    if (2 * (size_ + 1) <= slots_.size()) return;
    std::vector<slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = static_cast<std::uint32_t>(slots_.size() - 1);
    size_ = 0;
    for (const slot& s : old)
      if (s.used) set(s.from, s.to);
  }
  void set(Id from, Id to) noexcept {  // after reserve_one()
    std::uint32_t i = home(from);
    while (slots_[i].used && slots_[i].from != from) i = (i + 1) & mask_;
    size_ += !slots_[i].used;
    slots_[i] = {from, to, true};
  }
  void erase(Id from) noexcept {
    std::uint32_t i = home(from);
    while (slots_[i].used && slots_[i].from != from) i = (i + 1) & mask_;
    if (!slots_[i].used) return;
    --size_;
    // Close the gap: whatever was pushed past it by a collision moves back, so that searches may end at a free slot.
    for (std::uint32_t j = (i + 1) & mask_; slots_[j].used; j = (j + 1) & mask_) {
      const std::uint32_t wanted = home(slots_[j].from);
      if (((j - wanted) & mask_) < ((j - i) & mask_)) continue;  // its home lies behind the gap
      slots_[i] = slots_[j];
      i = j;
    }
    slots_[i].used = false;
  }

 private:
  struct slot {
    Id from{};
    Id to{};
    bool used = false;
  };
  std::uint32_t home(Id id) const noexcept {  // Fibonacci hashing: spreads dense ids and ids with tags alike
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15u) >> 32) & mask_;
  }
  std::vector<slot> slots_ = std::vector<slot>(16);  // a power of two, at most half full
  std::uint32_t mask_ = 15;
  std::size_t size_ = 0;
};

}  // namespace tutti
