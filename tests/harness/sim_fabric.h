// The simulated fabric as fabrics of several characters: what one of them never does, another does all the time.
#pragma once
#include "providers/sim/sim.h"
#include "tests/harness/fabrics.h"

namespace tutti::test {

// "sim": the exact LogGP machine. "sim:wild": every freedom that the contract leaves, refusals, lossy multicast.
// "sim:tcp": wild, and nothing happens upon a rank but by its own progress. "sim:node": ranks share nodes and maps.
std::vector<fabric_spec> sim_fabrics();
sim::parameters sim_parameters(const fabric_spec&, std::uint32_t ranks, std::uint64_t seed);

// All ranks in one child process, upon a world of these parameters.
run_report try_ranks_simulated(const sim::parameters&, const rank_body&, const run_options& = {});

}  // namespace tutti::test
