// `tutti perf --regret`: the time of what a job chooses over that of the best candidate, measured in one interleaved run.
#pragma once
#include <string>
#include <vector>

#include "core/job/config.h"

namespace tutti::tools {

struct regret_plan {
  std::string ranks;                     // "2,4,8,16"
  std::vector<std::string> providers;    // empty: every one that works here
  std::string only;                      // a collective; empty: all
  double seconds = 0;                    // in each job; 0: 20, more where cores are shared by many; of peers, for each cell, 0: 0.1
  std::string json, progress_to;
  bool quiet = false;
  bool peers = false;                    // of Open MPI's choices instead
};

// Inside a job every rank takes part, otherwise it starts jobs. Throws std::runtime_error.
int measure_regret(const regret_plan&, const config&);

}  // namespace tutti::tools
