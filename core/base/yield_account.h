// Whether a rank that waits should yield its core or sleep, by what yielding has cost it so far.
//
// While only ranks of the job share a core, yielding is the fastest way to hand the core to the rank that is waited for. A
// busy process of another program makes each sched_yield() last a whole time slice (milliseconds), because the yield gives
// the core to that process as well. A rank that sleeps is put back in front of such a process by its wake-up, for a constant
// 30 to 50 us. So every wait by yielding earns what a sleep would have cost, and every long yield spends its length. While
// the account is in credit the rank yields, and a process that passes by now and then changes nothing. Once the account is
// overdrawn, the rank sleeps in its waits for a multiple of that time slice, and then tries yielding again; for twice as long each
// time that this goes wrong, until the other process costs one part in a hundred. One that has gone is forgotten as soon. What ranks
// of the job compute meanwhile is not charged, where core/base/cpu_share.h can tell.
//
// A job begins in credit: while it starts, ranks that still load their libraries make yields long for those that wait already.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/base/time_point.h"

namespace tutti {

class yield_account {
 public:
  using duration = std::chrono::nanoseconds;

  yield_account() = default;
  explicit yield_account(double ranks_per_core) noexcept
      : price_(static_cast<std::int64_t>(static_cast<double>(wakeup.count()) * std::max(1.0, ranks_per_core))),
        long_yield_(std::max(long_at_least, 2 * price_)),
        credit_(most_credit * price_) {}

  // A wait begins: true, if it should yield. `clock` is read while the account is overdrawn.
  template <class Clock>
  bool may_yield(Clock&& clock) noexcept {
    if (sleeps_until_ != time_point{}) {
      if (clock() < sleeps_until_) return false;
      sleeps_until_ = {};
    }
    if ((credit_ += price_) > most_credit * price_) {
      credit_ = most_credit * price_;
      next_pause_ = first_pause;  // long undisturbed
    }
    return true;
  }

  // True: a process of another program had the core meanwhile.
  bool is_long(duration yield) const noexcept { return yield > long_yield_; }

  // Accounts for a long yield that ends now. False: overdrawn, so this wait should not yield again.
  bool spend(duration yield, time_point now) noexcept {
    credit_ -= yield;
    if (credit_.count() >= 0) return true;
    credit_ = {};
    sleeps_until_ = now + next_pause_ * std::min(yield, slice);
    next_pause_ = std::min(2 * next_pause_, longest_pause);
    return false;
  }

  static constexpr int first_pause = 8, longest_pause = 128;  // for each yield that overdraws: how many times as long, at most a slice
  static constexpr duration slice = std::chrono::milliseconds{3};
  static constexpr int most_credit = 250;  // prices: one slice in a hundred waits is not worth a change

 private:
  // What a wait by sleeping costs over one by yielding, for each rank that a core must wake one after the other.
  static constexpr duration wakeup = std::chrono::microseconds{30};
  // A sched_yield() among ranks that only wait returns within microseconds even with dozens of them on a core; another
  // process's time slice is at least 700 us (the scheduler's base slice) and usually 3 ms. Among ranks that sleep in the same
  // wait, a yield lasts until those of this core were woken and sleep again, which is the price. So a yield is long from well
  // beyond the price on. Otherwise ranks that once slept would take one another for other programs, and never yield again.
  static constexpr duration long_at_least = std::chrono::microseconds{200};

  duration price_{wakeup}, long_yield_{long_at_least}, credit_{};
  time_point sleeps_until_{};  // none: in credit
  int next_pause_ = first_pause;
};

}  // namespace tutti
