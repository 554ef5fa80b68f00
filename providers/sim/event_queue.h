// The queue of events: the earliest first, of equal times the smallest sequence number.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990). An event later than the time `last_` lies in the bucket of the highest
// bit in which its time differs from last_. When what is due at last_ is used up, the lowest bucket that has anything is
// emptied: its least time becomes the new last_, and its events go to lower buckets, each at most once a bit. So an event moves
// a few times through memory in sequence, where a binary heap of a hundred thousand events misses the cache on each of its
// seventeen levels.
//
// Two things are more than the textbook's. Events of one time are wanted in the order of their sequence numbers: those of last_
// are sorted when they are found (`due_`). And a rank that runs behind the world may push what is not later than last_: that
// goes into a small binary heap (`early_`). The next event is the lesser of the heads of these two, since whatever lies in a
// bucket is later than last_.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <queue>
#include <utility>
#include <vector>

namespace tutti::sim {

// Event has `at`, a signed integer that is never negative, and `seq`; a < b where b comes first, as std::priority_queue has it.
template <class Event>
class event_queue {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  void push(const Event& e) {
    ++size_;
    if (e.at > last_) put(e);
    else if (e.at == last_ && next_ < due_.size() && due_.back().seq < e.seq) follow(e);  // as what follows at once mostly is
    else early_.push(e);
  }
  // Not of an empty queue.
  const Event& top() {
    if (next_ == due_.size() && early_.empty()) refill();
    return is_early() ? early_.top() : due_[next_];
  }
  Event take() {
    const Event out = top();
    if (is_early()) early_.pop();
    else if (++next_ == due_.size() && due_.capacity() > kept) std::vector<Event>().swap(due_), next_ = 0;
    --size_;
    return out;
  }

 private:
  static constexpr std::size_t buckets = 64;
  static constexpr std::uint32_t per_block = 127;
  struct block {
    block* next;
    std::uint32_t count;
    Event events[per_block];
  };
  struct bucket {
    block *first = nullptr, *last = nullptr;
  };
  static constexpr std::size_t kept = 1 << 10;  // events: what due_ keeps of its memory when it is empty

  bool is_early() const noexcept { return next_ == due_.size() || (!early_.empty() && due_[next_] < early_.top()); }

  void put(const Event& e) {
    const auto bit = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(e.at) ^ static_cast<std::uint64_t>(last_))) - 1;
    bucket& to = buckets_[bit];
    if (!to.first || to.last->count == per_block) {
      block* const b = free_ ? std::exchange(free_, free_->next) : &blocks_.emplace_back();
      b->next = nullptr, b->count = 0;
      to.last = to.first ? to.last->next = b : to.first = b;
    }
    to.last->events[to.last->count++] = e;
    used_ |= std::uint64_t{1} << bit;
  }

  // In the room of what has been taken, if that is half of all.
  void follow(const Event& e) {
    if (due_.size() == due_.capacity() && 2 * next_ >= due_.size()) due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(next_)), next_ = 0;
    due_.push_back(e);
  }

  void refill() {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(used_));
    block* const from = std::exchange(buckets_[lowest].first, nullptr);
    used_ &= used_ - 1;
    last_ = from->events[0].at;
    std::size_t alike = 0;
    for (const block* b = from; b; b = b->next)
      for (std::uint32_t i = 0; i < b->count; ++i)
        if (b->events[i].at < last_) last_ = b->events[i].at, alike = 1;
        else alike += b->events[i].at == last_;
    due_.clear(), next_ = 0;
    due_.reserve(alike);
    for (block* b = from; b;) {  // in the order in which they came, so those of one time are mostly sorted
      for (std::uint32_t i = 0; i < b->count; ++i)
        if (b->events[i].at == last_) due_.push_back(b->events[i]);
        else put(b->events[i]);
      block* const done = std::exchange(b, b->next);
      done->next = std::exchange(free_, done);
    }
    constexpr auto by_number = [](const Event& a, const Event& b) { return a.seq < b.seq; };
    if (!std::ranges::is_sorted(due_, by_number)) std::ranges::sort(due_, by_number);
  }

  decltype(Event::at) last_ = 0;
  std::size_t size_ = 0;
  std::vector<Event> due_;         // at last_, from next_ on
  std::size_t next_ = 0;
  std::priority_queue<Event> early_;
  std::array<bucket, buckets> buckets_;
  std::deque<block> blocks_;       // of all buckets: they take what their events take together, and not each its own most
  block* free_ = nullptr;
  std::uint64_t used_ = 0;         // bit i: buckets_[i] has any
};

}  // namespace tutti::sim
