// The queue of events: the earliest first, of equal times the smallest sequence number.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990). An event later than the time `last_` lies in the bucket of the highest bit in
// which its time differs from last_. When what is due at last_ is used up, the lowest bucket that has anything is emptied: its least
// time becomes the new last_, and its events go to lower buckets, each at most once a bit. So an event moves a few times through
// memory in sequence, where a binary heap of a hundred thousand events misses the cache on each of its seventeen levels.
//
// Two things are more than the textbook's. Events of one time are wanted in the order of their sequence numbers: those of
// last_ are sorted when they are found (`due_`). And a rank that runs behind the world may push what is not later than
// last_: that goes into a small binary heap (`early_`). The next event is the lesser of the heads of these two, since whatever lies in a
// bucket is later than last_.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <queue>
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
    else if (e.at == last_ && next_ < due_.size() && due_.back().seq < e.seq) due_.push_back(e);  // as what follows at once mostly is
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
    else ++next_;
    --size_;
    return out;
  }

 private:
  static constexpr std::size_t buckets = 64;
  static constexpr std::size_t kept = 1 << 16;  // events: what a bucket that is emptied keeps of its memory

  bool is_early() const noexcept { return next_ == due_.size() || (!early_.empty() && due_[next_] < early_.top()); }

  void put(const Event& e) {
    const auto bit = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(e.at) ^ static_cast<std::uint64_t>(last_))) - 1;
    buckets_[bit].push_back(e);
    used_ |= std::uint64_t{1} << bit;
  }

  void refill() {
    const auto lowest = static_cast<std::size_t>(std::countr_zero(used_));
    std::vector<Event>& from = buckets_[lowest];
    used_ &= used_ - 1;
    last_ = std::ranges::min(from, {}, &Event::at).at;
    due_.clear(), next_ = 0;
    if (lowest == 0) {  // two times share all bits but the last: these are all of one
      due_.swap(from);
    } else {
      for (const Event& e : from)
        if (e.at == last_) due_.push_back(e);
        else put(e);
      from.clear();
      if (from.capacity() > kept) std::vector<Event>().swap(from);
    }
    constexpr auto by_number = [](const Event& a, const Event& b) { return a.seq < b.seq; };
    if (!std::ranges::is_sorted(due_, by_number)) std::ranges::sort(due_, by_number);
  }

  decltype(Event::at) last_ = 0;
  std::size_t size_ = 0;
  std::vector<Event> due_;         // at last_, from next_ on
  std::size_t next_ = 0;
  std::priority_queue<Event> early_;
  std::array<std::vector<Event>, buckets> buckets_;
  std::uint64_t used_ = 0;         // bit i: buckets_[i] has any
};

}  // namespace tutti::sim
