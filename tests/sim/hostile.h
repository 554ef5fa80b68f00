// Random machines and random barriers for jobs of virtual ranks: everything that the contract leaves open, by the seed.
#pragma once
#include "providers/sim/random.h"
#include "tests/sim/ranks.h"
#include "tools/sim/virtual_job.h"

namespace tutti::test {

using tools::virtual_job;

inline std::uint32_t below(sim::random& r, std::uint32_t n) { return static_cast<std::uint32_t>(r.next() % n); }

// Each freedom is absent in some machines, so that none hides what another would show.
inline sim::parameters hostile_machine(std::uint32_t ranks, sim::random& r) {
  sim::parameters p;
  p.ranks = ranks, p.seed = r.next();
  p.limit_us = 2e6;
  if (r.chance(0.8)) p.jitter = r.unit() * 6;
  if (r.chance(0.5)) p.noise_us = r.unit() * 3;
  if (r.chance(0.5)) p.refuse = r.unit() * 0.3;
  if (r.chance(0.25)) p.queue_depth = 1 + below(r, 8);
  if (r.chance(0.6)) p.mcast_loss = r.unit() * 0.5;
  if (r.chance(0.5)) p.mcast_duplicate = r.unit() * 0.5;
  if (r.chance(0.5)) p.mcast_reorder = r.unit() * 0.5;
  if (r.chance(0.25)) p.mcast_depth = 1 + below(r, 2);
  p.ranks_per_node = 1 + below(r, std::min(ranks, 8u));
  p.target_must_progress = r.chance(0.2);
  return p;
}

// The algorithm with one of its parameters.
inline communicator_options some_barrier(const algorithm& a, sim::random& r) {
  communicator_options o{.barrier = std::string(a.name)};
  const algorithm* parameterized = &a;
  if (a.needs.nodes) {
    const auto all = algorithms(collective::barrier);
    parameterized = &all[below(r, static_cast<std::uint32_t>(all.size()))];
    if (parameterized->needs.nodes || parameterized->needs.offload) parameterized = find_algorithm(collective::barrier, "dissemination");
    o.barrier += ":" + std::string(parameterized->name);
  }
  if (parameterized->default_radix && r.chance(0.5)) o.radix = parameterized->least_radix + below(r, 9);
  return o;
}

}  // namespace tutti::test
