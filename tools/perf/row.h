// One line of a comparison: something that all ranks run together some number of times.
#pragma once
#include <functional>

#include "tools/perf/report.h"
#include "tools/perf/series.h"

namespace tutti::tools {

struct row {
  measurement what;      // what is measured; its numbers come last
  double work = 0;       // bytes of one iteration, for bandwidth
  double halves = 1;     // one-way trips in one iteration: 2 for a ping-pong
  int least = 1;         // iterations of a chunk
  // Collective over all ranks: runs `iterations`. Throws std::runtime_error with a status' text on failure.
  std::function<void(int iterations)> run;

  int iterations = 1;    // of a chunk; calibrated
  series result;
};

}  // namespace tutti::tools
