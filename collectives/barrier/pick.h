// From a group of job ranks to the algorithm its barrier uses: gathers what the chooser asks for, so that every member
// gives it the same facts and reaches the same choice.
#pragma once
#include "collectives/barrier/choose.h"
#include "core/job/job.h"

namespace tutti {

struct communicator_options;

struct picked_barrier {
  barrier_candidate choice;
  std::uint32_t lines = 0;  // of control segment
};

// `most_lines`: what the team's control segment has. Errors: invalid, unknown algorithm; unsupported, an override that
// cannot run here, with what can. It costs O(members) and more, and its answer is alike in all members, so virtual ranks of
// one process ask once.
result<picked_barrier> pick_barrier(const layout&, transport&, const rank_map& members, const communicator_options&,
                                    std::uint32_t most_lines);

// What the transport tells of itself, alike in all ranks; the rest of the inputs is the team's. `node_of` is kept by
// reference.
barrier_inputs barrier_inputs_of(transport&, std::span<const std::uint32_t> node_of);

}  // namespace tutti
