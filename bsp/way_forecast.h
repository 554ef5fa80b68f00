// Whether somebody will object to words alone in the next superstep (superstep.cpp), guessed from those before, as
// processors guess branches (Yeh and Patt 1991): for each course that the last four supersteps may have taken, a counter
// from 0 to 3 of what came next. All processes know who objected in which superstep, so all guess alike.
//
// Most programs are loops, with supersteps of several kinds in each turn: where the last four tell the next, as in any loop
// of at most five, it is known after a few turns. Guessing that the next is like the last would always be wrong where total
// exchanges and empty supersteps alternate. Long stretches of either kind are guessed wrong once, where they begin.
#pragma once
#include <array>
#include <cstdint>

namespace tutti::bsp {

class way_forecast {
 public:
  bool objection() const noexcept { return after_[last_] >= 2; }
  void saw(bool objected) noexcept {
    std::uint8_t& after = after_[last_];
    if (objected && after < 3) ++after;
    if (!objected && after > 0) --after;
    last_ = (last_ << 1 | unsigned{objected}) & 15;
  }

 private:
  // Until it is known better: like the last one, and for certain if all four were alike.
  std::array<std::uint8_t, 16> after_{0, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 3};
  unsigned last_ = 15;  // a bit each, the latest lowest; before the program all objected
};

}  // namespace tutti::bsp
