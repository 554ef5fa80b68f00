// A bound for what a rank waits for by itself, in the time that it had.
//
// By the clock, a process that was stopped, or kept off its core, for as long as the bound finds it over at its next look,
// though it had no turn in which anything could have come or gone: a goodbye then stayed in the library that had taken it,
// and an orderly leave was told as a death. So a turn (from one look to the next) counts for an eighth of the bound at most,
// and whoever waits has eight turns at least. Where turns are short, as in a loop around progress(), it is the clock's bound.
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
