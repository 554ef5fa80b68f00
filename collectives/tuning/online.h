// Learning which algorithm is the fastest while a program runs (TUTTI_TUNE=online): which candidate the next call of a class takes,
// and what the members make of the times that they have seen. Pure: counts and the members' own numbers alone, no clock and no
// network, so all members take the same candidate in the same call.
//
// A class is a collective, a kind of its calls and a class of sizes, in one team. Its calls go to the incumbent, at first the best by
// price or table, but for trials: a few calls in a row of one candidate, which the members begin together once all are here and have
// what it needs, for members may be many calls ahead of others, and would wait in one candidate's trial for another's calls. The time
// of a trial is the mean of its calls, because calls in a row overlap, and some algorithms pay for that by a barrier each 16 calls.
// Every candidate, the incumbent too, has three trials in a round, by turns, so that whatever else
// the machine does falls upon all of them. Then the members exchange the medians, and the slowest member's counts. Trials of the first
// round are short: who takes more than twice the best one's time is out. After the second round the incumbent stays unless another is
// 10 % ahead. That is all there is; the class is settled from then on.
//
// Cost. Calls of the incumbent save up for trials, a hundredth of their time; a trial begins, or an exchange, when what it will take
// has been saved, the memory that a candidate needs at first included. Times are prices until the first exchange, and are put right
// by what was measured then: so trials take one part in a hundred of the time in collectives, but for errors of the prices in the
// first round, which the second round makes good before it begins.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/cost.h"

namespace tutti::tuning {

struct online_settings {
  bool any_grouping = false;             // also reductions whose bits depend on which algorithm groups the operands
  std::int64_t one_in = 100;             // part of the time in collectives that goes into trials
  picoseconds setup = 500'000'000;       // to prepare a candidate: memory, an exchange of keys
  picoseconds exchange = 100'000'000;    // of the medians; to begin a trial together
};

class contest {
 public:
  // What a call of each candidate is expected to take, the incumbent's first; at least 1 ps.
  contest(std::span<const picoseconds> expected, const online_settings&);

  // Which candidate runs the next call, in all members the same.
  std::uint32_t next() noexcept;
  // Of that call: medians are to be exchanged before, and settled; then it goes to incumbent().
  bool exchange_due() const noexcept { return due_; }
  bool timed() const noexcept { return timed_; }
  bool begins_trial() const noexcept { return timed_ && left_ + 1 == calls[round_]; }  // the members are to begin it together
  void took(picoseconds) noexcept;       // where timed: the call here, from its beginning to its end
  std::vector<picoseconds> medians() const;  // of this round's trials, by candidate; 0: not tried
  // One candidate's medians after the other's, of all members alike: by_member[m][candidate]. Whatever these say, it ends.
  void settle(std::span<const std::span<const picoseconds>> by_member);
  std::uint32_t incumbent() const noexcept { return incumbent_; }
  bool over() const noexcept { return round_ == rounds; }

 private:
  static constexpr std::uint32_t rounds = 2, trials = 3;
  static constexpr std::uint32_t calls[rounds] = {4, 16};  // of a trial
  struct contestant {
    picoseconds time;                    // expected, then measured
    bool in = true, prepared = false;
    std::uint32_t tried = 0;             // trials of this round
    picoseconds means[trials] = {};      // of their calls
  };
  bool begin_trial() noexcept;           // false: nothing is left to try in this round, or not enough saved
  void put_right(std::span<const picoseconds> measured) noexcept;

  std::vector<contestant> all_;
  online_settings settings_;
  std::uint32_t incumbent_ = 0, round_ = 0;
  std::uint32_t turn_ = 0;               // of the round's trials
  std::uint32_t who_ = 0, left_ = 0;     // of the present trial
  std::int64_t incumbents_ = 0;          // its calls since the last exchange, outside of trials
  picoseconds saved_ = 0;
  bool due_ = false, timed_ = false;
};

}  // namespace tutti::tuning
