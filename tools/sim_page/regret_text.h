// `tutti sim --regret`: what a job chooses against the best candidate.
#pragma once
#include <string>
#include <vector>

#include "providers/sim/sim.h"

namespace tutti::tools {

struct regret_plan {
  sim::parameters machine;
  std::vector<std::uint32_t> ranks;
  std::string only;                    // this collective; "": all
  bool details = false;                // every candidate
  double wrong = 0;                    // each constant of the chooser's so many times what it is, and that part of it; 0: none
};

// Prints it; the exit status.
int tell_regret(const regret_plan&);

}  // namespace tutti::tools
