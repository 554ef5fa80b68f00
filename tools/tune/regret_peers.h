// The regret of Open MPI's `tuned`, whose algorithms can be forced, in the terms of tools/tune/regret.h.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "collectives/algorithm.h"

namespace tutti::tools {

// Over shared memory, whole jobs in turn, several rounds of them: each algorithm of `tuned` with its own parameters, and twice what it
// chooses. Of each number of ranks so many seconds are measured, beside what starting the jobs takes. Rows as `tutti perf --regret` has
// them. Throws std::runtime_error: there is no Open MPI here.
nlohmann::ordered_json regret_of_open_mpi(const std::vector<collective>&, const std::vector<int>& ranks, std::span<const std::uint64_t> sizes,
                                          double seconds, bool quiet);

}  // namespace tutti::tools
