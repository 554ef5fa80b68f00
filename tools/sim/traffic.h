// Puts or gets between the ranks of a simulated machine: what the network bears.
#pragma once
#include "tools/sim/figures.h"

namespace tutti::tools {

enum class pattern : std::uint8_t {
  uniform,  // each operation to a rank of its own choice, by the seed
  ring,     // to the next rank
  shift,    // operation i to the rank i + 1 further on: an all-to-all
  incast,   // all to rank 0
  mirror,   // rank r and n - 1 - r: everything crosses the middle
};
inline constexpr std::string_view pattern_names[] = {"uniform", "ring", "shift", "incast", "mirror"};

struct traffic_plan {
  pattern to = pattern::uniform;
  bool get = false;
  std::uint64_t bytes = 8;
  std::uint64_t operations = 16;       // of each rank
  std::uint32_t window = 1;            // of a rank's under way at once
};

// A sample is one operation, from its submission until it is in effect and the origin knows it. Every rank works upon the same
// memory: what the data are plays no part. Errors: those of the world.
result<sim_figures> measure_traffic(const sim::parameters&, const traffic_plan&, const progress_fn& = {});

}  // namespace tutti::tools
