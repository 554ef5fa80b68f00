// `tutti sim --regret`: what a job chooses against the best candidate.
#pragma once
#include <string>
#include <vector>

#include "providers/sim/sim.h"

namespace tutti::tools {

struct sim_regret_plan {
  sim::parameters machine;
  std::vector<std::uint32_t> ranks;
  std::string only;                    // this collective; "": all
  bool details = false;                // every candidate
  double wrong = 0;                    // each constant of the chooser's so many times what it is, and that part of it; 0: none
};

// Prints it; the exit status.
int tell_sim_regret(const sim_regret_plan&);

}  // namespace tutti::tools
