// Whether a rank that waits should yield its core or sleep, by what yielding has cost it so far.
//
// Yielding is the fastest way to hand a core to the rank one waits for, as long as only ranks of the job share it; one
// busy stranger makes each sched_yield() last a whole time slice (milliseconds), because it gives the core to the stranger
// as well. A sleeper, on the other hand, is put back in front of the stranger by its wake-up, for a constant 30 to 50 us.
// So every wait by yielding saves what a sleep would have cost, and every yield that a stranger made long spends its
// length. While it is in credit a rank yields, and a stranger who passes by now and then changes nothing. Once overdrawn it
// sleeps at once in its next waits, and tries yielding again only now and then, ever more rarely while the stranger stays.
//
// A job begins in credit: while it starts, ranks that still load their libraries are strangers to those that wait already.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tutti {

class yield_account {
 public:
  using duration = std::chrono::nanoseconds;

  yield_account() = default;
  explicit yield_account(double ranks_per_core) noexcept
      : price_(static_cast<std::int64_t>(static_cast<double>(wakeup.count()) * std::max(1.0, ranks_per_core))),
        strangers_(std::max(strangers_at_least, 2 * price_)),
        credit_(most_credit * price_) {}

  // A wait begins: true, if it should yield.
  bool may_yield() noexcept {
    if (shy_ > 0) {
      --shy_;
      return false;
    }
    if ((credit_ += price_) > most_credit * price_) {
      credit_ = most_credit * price_;
      shyness_ = first_shy;  // long undisturbed
    }
    return true;
  }

  bool of_a_stranger(duration yield) const noexcept { return yield > strangers_; }

  // A yield that a stranger made long. False: overdrawn, so this wait should not yield again.
  bool spend(duration yield) noexcept {
    credit_ -= yield;
    if (credit_.count() >= 0) return true;
    credit_ = {};
    shy_ = shyness_;
    shyness_ = std::min(shyness_ * 2, last_shy);
    return false;
  }

  static constexpr std::uint32_t first_shy = 64, last_shy = 8192;  // waits that sleep at once after an overdraft
  static constexpr int most_credit = 250;  // prices: one slice in a hundred waits is not worth a change

 private:
  // What a wait by sleeping costs over one by yielding, for each rank that a core must wake one after the other.
  static constexpr duration wakeup = std::chrono::microseconds{30};
  // A sched_yield() among ranks that only wait returns within microseconds even with dozens of them on a core; a stranger's
  // time slice is at least 700 us (the scheduler's base slice) and usually 3 ms. Among ranks that sleep in the same wait a
  // yield lasts until those of this core were woken and sleep again, which is the price; so it is a stranger's from well
  // beyond that on. Otherwise ranks that once slept would take one another for strangers, and never yield again.
  static constexpr duration strangers_at_least = std::chrono::microseconds{200};

  duration price_{wakeup}, strangers_{strangers_at_least}, credit_{};
  std::uint32_t shy_ = 0, shyness_ = first_shy;
};

}  // namespace tutti
