// A job of simulated ranks, joined without a launcher.
#pragma once
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/job/job.h"
#include "providers/sim/sim.h"

namespace tutti::test {

inline void require(bool good) {
  if (!good) std::abort();
}

inline std::unique_ptr<job> join(sim::world& w, rank_t r, transport& net, job_options options, layout where) {
  std::vector<std::byte> blob;
  auto j = job::offer(w.boot(r), net, std::move(options), blob);
  require(j.ok());
  auto in = job::digest(**w.boot(r).allgather(blob, time_point::max()), std::make_shared<layout>(std::move(where)));
  require(in.ok());
  in->addresses = nullptr;
  require((*j)->accept(*in).ok());
  return std::move(*j);
}

}  // namespace tutti::test
