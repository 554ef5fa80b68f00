// One barrier algorithm on one simulated machine, measured.
#pragma once
#include "tools/sim/figures.h"
#include "tools/sim/virtual_job.h"

namespace tutti::tools {

// More control words or steps a rank than this, and a world of many ranks does not fit into memory.
inline constexpr std::uint32_t most_words = 1024;

// Errors: those of virtual_job; unsupported, the algorithm's memory grows with the number of ranks and there are more
// than most_words.
result<sim_figures> measure_barrier(const sim::parameters&, const communicator_options&, std::uint64_t epochs, const progress_fn& = {});

}  // namespace tutti::tools
