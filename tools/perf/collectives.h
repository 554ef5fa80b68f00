// `tutti perf collectives`: what calls of each collective take until the last rank has the result, by bytes; and with --peers
// beside MPI libraries, cell by cell.
//
// Calls follow each other in a chain, so that none begins before the one before has ended somewhere that matters, and nobody runs
// ahead. Where no rank can have its result before all have called, that is so by itself. Broadcast, reduce, gather and scatter
// take their root from the last rank to the first, by turns: the root of a call has then been the deepest leaf of a broadcast's
// tree just before, or has waited for all. Scans run by turns over the team and over the team in reverse. A chunk, some
// milliseconds of calls behind a barrier, takes as long as it takes the slowest rank. tests/bench/mpi_collectives.c does the same.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/algorithm.h"

namespace tutti::tools {

struct collective_cell {
  collective of = collective::barrier;
  std::uint64_t bytes = 0;  // of all the data, or of a block for each rank (has_block_each)
};
// All sizes for each collective; a barrier once.
std::vector<collective_cell> cells_of(const std::vector<collective>&, const std::vector<std::uint64_t>& sizes);

struct collectives_plan {
  std::string self;                                // path of this executable
  std::vector<collective> what;
  std::vector<std::uint64_t> sizes;
  std::vector<int> ranks{2, 4, 8, 16};
  std::vector<std::string> providers{"shm", "ucx:tcp"};
  double seconds = 900;                            // for everything, about; a first round is finished in any case
  std::string json;                                // a file; empty: none
};

// A table of times, floors and ratios, and their geometric means; the exit status. Throws std::runtime_error.
int compare_collectives_with_peers(const collectives_plan&);

}  // namespace tutti::tools
