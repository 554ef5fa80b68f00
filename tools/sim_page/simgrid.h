// `tutti sim --simgrid`: the same collectives, by the same algorithms, on the same machine, simulated by tutti and by SimGrid.
#pragma once
#include <string>
#include <vector>

#include "providers/sim/sim.h"

namespace tutti::tools {

struct simgrid_plan {
  sim::parameters machine;             // L, o and the bandwidth between nodes; a rank on each
  std::vector<std::uint32_t> ranks;
  std::string only;                    // "barrier" or "allreduce"; "": both
  std::vector<std::uint64_t> bytes;    // of the allreduce; none: 8 and 64 KiB
  std::uint64_t calls = 10;
  std::string self;                    // path of this executable
};

// Prints a table; the exit status. The models agree in what they share: a message takes o of its sender, L, and its bytes over the
// bandwidth. SimGrid has no g, so there is none here either; links between nodes and several ranks on a node are refused.
int compare_with_simgrid(const simgrid_plan&);

}  // namespace tutti::tools
