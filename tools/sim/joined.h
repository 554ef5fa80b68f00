// The job of one simulated rank that runs as a function of its world (sim::world::run), joined as a process joins one.
#pragma once
#include <functional>
#include <memory>
#include <stdexcept>

#include "core/job/job.h"
#include "providers/sim/sim.h"

namespace tutti::tools {

template <class T>
T need(result<T> r) {
  if (!r) throw std::runtime_error(r.error().text());
  return std::move(*r);
}
inline void need(const status& s) {
  if (s.failed()) throw std::runtime_error(s.text());
}

// Virtual ranks have a core each, or as many as the parameters say, whatever machine they are simulated on. `agreed`: changes
// what the members have agreed on. Collective; throws std::runtime_error.
std::unique_ptr<job> join_simulated(sim::world&, rank_t, job_options, const std::function<void(job::admission&)>& agreed = {});

// The virtual clock that is furthest on, in all ranks alike. Collective, takes no virtual time.
time_point latest_clock(sim::world&, rank_t);
// The same of a job's rank, which goes on serving what it has under way: messages that are sent and have not left, for one.
time_point latest_clock(sim::world&, job&);

// What world::run() returns, and exceptions of ranks as errors.
status run_ranks(sim::world&, const std::function<void(rank_t)>& rank_main);

}  // namespace tutti::tools
