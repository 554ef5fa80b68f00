// One line of the comparison: something that all ranks run together some number of times.
#pragma once
#include <functional>
#include <string>

#include "tools/perf/series.h"

namespace tutti::tools {

enum class unit { microseconds, gigabytes_per_s };

struct row {
  std::string lane;      // "shm", "ucx:tcp", "floor"
  std::string group;     // "barrier", "one-sided", "bandwidth"
  std::string name;      // "dissemination", "put 8 B"
  unit in = unit::microseconds;
  double bytes = 0;      // of one iteration, for bandwidth
  double halves = 1;     // one-way trips in one iteration: 2 for a ping-pong
  bool chosen = false;   // the algorithm that the chooser would take
  // Collective over all ranks: runs `iterations`. Throws std::runtime_error with a status' text on failure.
  std::function<void(int iterations)> run;

  int iterations = 1;    // of a chunk; calibrated
  series result;
};

}  // namespace tutti::tools
