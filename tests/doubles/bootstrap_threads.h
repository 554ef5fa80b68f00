// The bootstrap of ranks that are threads of one process: tests, and programs that study.
#pragma once
#include <memory>
#include <vector>

#include "core/job/bootstrap.h"

namespace tutti {

// One bootstrap for each of `size` ranks, each to be used by one thread; they share the state among them. Destroying
// one is that rank's death to those that wait for it. With ranks_per_host > 0 the ranks claim to live on hosts of that
// many, in order; otherwise on this one.
std::vector<std::unique_ptr<bootstrap>> make_thread_bootstraps(std::uint32_t size, std::uint32_t ranks_per_host = 0);

}  // namespace tutti
