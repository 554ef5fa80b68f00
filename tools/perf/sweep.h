// Jobs of `tutti perf` itself, one after the other with different numbers of ranks, and their reports as one.
#pragma once
#include <string>
#include <vector>

#include "tools/perf/report.h"

namespace tutti::tools {

struct sweep_plan {
  std::string self;                    // path of this executable
  std::vector<int> ranks;
  std::vector<std::string> arguments;  // of `tutti perf` in each job
  bool by_size = false;                // the first job with at least two ranks measures over sizes, too
  double seconds = 0;                  // of measuring in each job; 0: its own default
  bool progress = false;               // a line on stderr while it runs
};

// A job that fails is told on stderr and is missing from the report. Throws std::runtime_error if none succeeds.
report sweep(const sweep_plan&);

}  // namespace tutti::tools
