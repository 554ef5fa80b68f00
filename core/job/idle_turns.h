// When a long wait calls the program's idle function, by which another library advances (job_options::idle).
//
// The waiting rank cannot see whether that library has moved anything, and the other side often answers each turn of it with a need for
// the next: a chain of synchronous sends, a hand-shake. So once the wait sleeps, turns come in bursts: many, one shortly after the other,
// then a nap. A burst is as long as the processor time that it may cost; a turn counts for little though it takes long, since then
// others had the core. So bursts stay below a fortieth of a core, however long the wait lasts.
#pragma once
#include <algorithm>
#include <chrono>

#include "core/base/time_point.h"

namespace tutti {

class idle_turns {
 public:
  using duration = std::chrono::nanoseconds;
  static constexpr duration nap = std::chrono::milliseconds(2);           // between bursts
  static constexpr duration short_nap = std::chrono::microseconds(50);    // between the turns of a burst, for a rank that does not yield
  static constexpr duration burst = std::chrono::microseconds(50);        // of processor time
  static constexpr duration most_of_turn = std::chrono::microseconds(5);  // that is charged

  explicit idle_turns(time_point began) noexcept : next_(began), last_(began) {}

  bool in_burst() const noexcept { return left_ > duration{}; }
  time_point next() const noexcept { return next_; }  // no sleep is to last longer
  // Between the turns of this burst the rank is to yield, as long as that is short.
  bool yields() const noexcept { return in_burst() && last_took_ < short_nap; }

  // The function has been called at this time, after a sleep or not.
  void called(time_point t, bool slept) noexcept {
    last_took_ = t - last_;
    last_ = t;
    if (in_burst()) {
      left_ -= std::min(last_took_, most_of_turn);
    } else if (slept && t >= next_) {
      left_ = burst;
      last_took_ = {};
    } else {
      return;
    }
    next_ = t + (in_burst() ? short_nap : nap);
  }

 private:
  time_point next_, last_;
  duration left_{}, last_took_{};
};

}  // namespace tutti
