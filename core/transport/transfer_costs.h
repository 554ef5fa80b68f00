// What moving data costs, as the engines reckon with it: the links, as all ranks agree on them (facts.h), and copies by a core. Numbers
// given here are priors; what was measured replaces them (collectives/tuning/calibration.h).
#pragma once
#include "core/transport/transport.h"

namespace tutti {

struct transfer_costs {
  loggp network;                   // between nodes
  loggp node;                      // inside a node
  double copied_bytes_per_ns = 8;  // by a core, from one place in memory to another, of data that are in no cache of its own
  double cached_bytes_per_ns = 24; // copied where all that a core's ranks touch in a call stays in its own cache
  // What a rank of a node gets from memory that another one has not mapped to it, which the kernel copies: a call, with the look for the
  // other's death, and by the byte, of data that are in no cache. (From caches 13: 64 KiB in 6.5 us, 1 MiB in 80.)
  double fetch_us = 3;
  double fetched_bytes_per_ns = 4.5;
  // For a rank that waits to look and pass its core on to the next one that shares it. Flat counter on 2 cores with yielding waits:
  // 1.6, 4.5 and 13 us for 2, 4 and 8 ranks a core, which is 1.5 to 1.9 us for each other rank.
  double turn_per_rank_us = 1.6;

  // Lost by a rank that waits, until it has its core back.
  double turn_us(double ranks_per_core) const noexcept { return ranks_per_core > 1 ? (ranks_per_core - 1) * turn_per_rank_us : 0; }
};

}  // namespace tutti
