// A table of things that a rank names by 32-bit ids, such as its regions and segments.
//
// An id is a slot of the table and, above it, how often the slot was used. So the id of something that was dropped does not
// name what comes after it in the same slot, until that slot was used 4,096 times more.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace tutti {

template <class Id, class T>
class slot_table {
 public:
  static constexpr unsigned slot_bits = 20;
  static constexpr std::uint32_t slot_mask = (1u << slot_bits) - 1;  // the last slot is never used, so that ~0 is no id

  // Makes room for one more, so that the next insert() cannot fail. False: the table is full. Throws std::bad_alloc.
  [[nodiscard]] bool reserve_one() {
    first_free_ = 0;
    while (first_free_ < slots_.size() && slots_[first_free_].used) ++first_free_;
    if (first_free_ == slot_mask) return false;
    if (first_free_ == slots_.size()) slots_.emplace_back();
    return true;
  }
  Id insert(T value) noexcept {  // after reserve_one()
    slot& s = slots_[first_free_];
    s.value = std::move(value), s.used = true;
    return make_id(first_free_, ++s.life);
  }
  void erase(Id id) noexcept {
    if (!find(id)) return;
    slots_[slot_of(id)].value = {}, slots_[slot_of(id)].used = false;
  }

  T* find(Id id) noexcept {  // null: it was dropped, or never was
    const std::uint32_t i = slot_of(id);
    return i < slots_.size() && slots_[i].used && make_id(i, slots_[i].life) == id ? &slots_[i].value : nullptr;
  }
  const T* find(Id id) const noexcept { return const_cast<slot_table*>(this)->find(id); }
  // Of what is known to be there: for a data path that leaves the check to its callers.
  T& operator[](Id id) noexcept { return slots_[slot_of(id)].value; }
  const T& operator[](Id id) const noexcept { return slots_[slot_of(id)].value; }

  template <class F>
  void each(F&& f) noexcept {  // f(Id, T&), which may erase what it is given
    for (std::uint32_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].used) f(make_id(i, slots_[i].life), slots_[i].value);
  }

 private:
  struct slot {
    T value{};
    std::uint32_t life = 0;
    bool used = false;
  };
  static constexpr Id make_id(std::uint32_t slot, std::uint32_t life) noexcept { return Id{life << slot_bits | slot}; }
  static constexpr std::uint32_t slot_of(Id id) noexcept { return static_cast<std::uint32_t>(id) & slot_mask; }

  std::vector<slot> slots_;
  std::uint32_t first_free_ = 0;
};

}  // namespace tutti
