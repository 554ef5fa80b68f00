#include "core/job/slot_pool.h"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

// Of the state, in its lowest bits.
enum : std::uint64_t { open, closing, closed_for_ever, number = 4 };
constexpr std::uint64_t kind_of(std::uint64_t state) noexcept { return state % number; }

// Of a member's word.
constexpr std::uint64_t left_after(std::uint64_t uses) noexcept { return uses << 1; }
constexpr std::uint64_t in_after(std::uint64_t uses) noexcept { return uses << 1 | 1; }

}  // namespace

slot_pool::holding::holding(slot_pool& pool, what w) : pool_(pool), what_(std::move(w)) {
  pool_.all_.push_back(this);
  (void)come_in();
}

slot_pool::holding::~holding() { std::erase(pool_.all_, this); }

bool slot_pool::holding::come_in() noexcept {
  word_of(what_.index).exchange(in_after(uses_));
  for (std::uint64_t seen = state().load();;) {
    if (kind_of(seen) == closed_for_ever) return word_of(what_.index).store(left_after(uses_)), false;
    if (kind_of(seen) == open || state().compare_exchange_strong(seen, seen - closing + open)) return in_ = true;
  }
}

void slot_pool::holding::leave() noexcept {
  in_ = false;
  word_of(what_.index).store(left_after(uses_));
}

bool slot_pool::holding::closed() noexcept {
  std::uint64_t seen = state().load();
  if (kind_of(seen) == closed_for_ever) return true;
  const std::uint64_t attempt = seen - kind_of(seen) + number + closing;
  if (!state().compare_exchange_strong(seen, attempt)) return kind_of(seen) == closed_for_ever;
  bool all_left = true;
  for (std::uint32_t m = 0; m < what_.members; ++m) all_left = all_left && word_of(m).load() == left_after(uses_);
  std::uint64_t mine = attempt;
  return state().compare_exchange_strong(mine, attempt - closing + (all_left ? closed_for_ever : open)) && all_left;
}

void slot_pool::leave_idle(const void* engine, std::uint64_t more) noexcept {
  std::ranges::sort(all_, std::ranges::greater{}, &holding::last_);
  for (holding* const h : all_) {
    more += h->what_.bytes;
    if (more > most && h->what_.times_before < most_times && h->in_ && !h->busy_ && h->what_.engine != engine) h->leave();
  }
}

// Each one that goes takes itself off the list.
void slot_pool::give_back() noexcept {
  for (std::size_t i = all_.size(); i-- > 0;)
    if (!all_[i]->in_ && all_[i]->closed()) all_[i]->what_.give_back();
}

}  // namespace tutti
