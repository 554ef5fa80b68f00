// A bound for a wait of this rank, counted in the time in which the rank ran.
//
// If a bound were counted by the clock alone, a process that was stopped, or kept off its core, for that long would find the
// bound over at its next look, without a turn in which anything could have come or gone: a goodbye then stayed in the library
// that had taken it, and the peers took an orderly leave for a death. So a turn (from one look to the next) counts for an eighth
// of the bound at most, and a wait has eight turns at least. Where turns are short, as in a loop around progress(), the bound is
// the clock's.
#pragma once
#include <algorithm>
#include <chrono>

#include "core/base/time_point.h"

namespace tutti {

class own_time {
 public:
  own_time(std::chrono::nanoseconds bound, time_point now) noexcept : longest_turn_(bound / 8), left_(bound), last_(now) {}
  // To be asked once in each turn.
  bool over(time_point now) noexcept {
    left_ -= std::min<std::chrono::nanoseconds>(now - last_, longest_turn_);
    last_ = now;
    return left_.count() <= 0;
  }

 private:
  std::chrono::nanoseconds longest_turn_, left_;
  time_point last_;
};

}  // namespace tutti
