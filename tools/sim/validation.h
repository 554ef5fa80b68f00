// How true a simulation is: what `tutti tune` measured of collectives, beside what the simulator says of the same algorithms on a
// machine that knows nothing of them but what the same run measured between two ranks (L, o, g, bandwidth), and of one core (copies, sums,
// a turn of ranks that share it).
#pragma once
#include "tools/sim/calibrated.h"
#include "tools/sim/figures.h"

namespace tutti::tools {

struct predicted_time {
  std::string algorithm;       // as TUTTI_ALLREDUCE names it
  double measured_us = 0, spread = 0;  // of a call; between the quartiles, as a share of it
  double predicted_us = 0;     // 0: it cannot be simulated
  std::string why_not;         // then
};

// One collective among so many ranks at one size.
struct predicted_row {
  const tuning::row* at = nullptr;     // of the table, which outlives this
  std::vector<predicted_time> all;     // at least one that could be simulated

  const predicted_time& fastest() const;   // measured, of those that could be simulated
  const predicted_time& foretold() const;  // that the simulator calls fastest
  // What goes by the simulator's word loses: its measured time over that of the fastest.
  double regret() const { return foretold().measured_us / fastest().measured_us; }

 private:
  const predicted_time& least(double predicted_time::* us) const;
};

// Of many predictions: how far they are off.
struct prediction_error {
  std::size_t many = 0;
  double bias = 1;             // geometric mean of predicted over measured
  double typical = 1;          // geometric mean of the larger over the smaller
  double worst = 1;
};
prediction_error error_of(std::span<const predicted_time* const>);

// Each row of that machine's fabric, but for those of which nothing can be simulated.
std::vector<predicted_row> predict(const machine&, const tuning::table&, const progress_fn& = {});

}  // namespace tutti::tools
