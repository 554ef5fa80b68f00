// A collective that moves data on a simulated machine, measured: a job that calls it several times in a row. Each rank knows who all
// the others are, so memory grows with their square.
#pragma once
#include "collectives/communicator.h"
#include "tools/sim/figures.h"

namespace tutti::tools {

inline constexpr std::uint32_t most_with_data = 16384;

struct collective_plan {
  collective of = collective::allreduce;
  std::string algorithm;               // as TUTTI_ALLREDUCE names it; "": what a job chooses
  std::uint64_t bytes = 8;             // multiples of 8, for what adds up
  std::uint64_t calls = 16;
};

// Two calls before these make what the algorithm needs; then all ranks begin at once. Errors: those of the
// world and of the ranks; unsupported, more than most_with_data ranks, or an alltoallv, of which the members know no size alike.
result<sim_figures> measure_collective(const sim::parameters&, const collective_plan&, const progress_fn& = {});

}  // namespace tutti::tools
