// A simulated fabric where messages are near and dear: each takes its sender long, and is there at once. So even a few
// processes do better with few messages than with a word to each.
#pragma once
#include "tests/harness/sim_fabric.h"

namespace tutti::test {

// At 8 processes bytes by dissemination are the cheapest way of an empty superstep, or by multicast.
inline sim::parameters near_fabric(std::uint32_t ranks, std::uint64_t seed, bool multicast) {
  sim::parameters p;
  p.ranks = ranks, p.seed = seed;
  p.cost = {0.1, 0.5, 0.1, 10};
  p.multicast = multicast, p.mcast_latency_us = 0.1;
  return p;
}

// With every freedom that the contract leaves.
inline void make_wild(sim::parameters& p, bool target_must_progress) {
  const sim::parameters wild = sim_parameters({target_must_progress ? "sim:tcp" : "sim:wild"}, p.ranks, p.seed);
  p.jitter = 100;  // of a latency that is small
  p.noise_us = wild.noise_us;
  p.refuse = wild.refuse, p.queue_depth = wild.queue_depth;
  p.mcast_loss = wild.mcast_loss, p.mcast_duplicate = wild.mcast_duplicate, p.mcast_reorder = wild.mcast_reorder;
  p.target_must_progress = wild.target_must_progress;
}

}  // namespace tutti::test
