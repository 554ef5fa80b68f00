// The results of `tutti sim` as JSON, with the machine that they are of.
#pragma once
#include <span>

#include "tools/sim/figures.h"
#include "tools/sim/machine.h"

namespace tutti::tools {

// { "tutti_sim": 1, "machine": as in a machine file, "seed": 1, "results": [ ... ] }; each result has the members of
// sim_figures, times in us of virtual time but wall_s, "spread" with the percentiles, and "busiest" where a link of the
// topology was.
std::string to_json(const machine&, std::span<const sim_figures>);

}  // namespace tutti::tools
