// From a group of job ranks to the algorithm that it uses: gathers what the chooser asks for, from what all ranks of the job
// have agreed on, so that every member reaches the same choice.
#pragma once
#include "collectives/choose.h"
#include "core/job/job.h"

namespace tutti {

struct communicator_options;

struct picked_barrier {
  candidate choice;
  std::uint32_t lines = 0;  // of control segment
};

// `multicast`: the transport has it, which is alike in all ranks. `most_lines`: what the team's control segment has. Errors:
// invalid, unknown algorithm; unsupported, a wanted one that cannot run here, with what can. It costs O(members) and more, and
// its answer is alike in all members, so virtual ranks of one process ask once.
// `fabric`: as job::fabric().
result<picked_barrier> pick_barrier(const layout&, const fabric_facts&, std::string_view fabric, bool multicast, const rank_map& members,
                                    const communicator_options&, std::uint32_t most_lines);
result<picked_barrier> pick_barrier(job&, const rank_map& members, const communicator_options&, std::uint32_t most_lines);
// What it goes by; `node_of` and the options' table are kept by reference.
result<choice_inputs> barrier_inputs(const fabric_facts&, std::string_view fabric, bool multicast, std::span<const std::uint32_t> node_of,
                                     double ranks_per_core, const communicator_options&);
// All that it chooses among, best first.
result<std::vector<candidate>> barriers_for(const layout&, const fabric_facts&, std::string_view fabric, bool multicast,
                                            std::span<const std::uint32_t> node_of, const communicator_options&);

// What was measured beforehand: its rows decide, and its calibration takes the place of the priors. null: nothing was.
void choose_by(choice_inputs&, const tuning::table*, std::string_view fabric);

// What was agreed of the transports; the rest of the inputs is the team's. `node_of` is kept by reference.
choice_inputs inputs_from(const fabric_facts&, bool multicast, std::span<const std::uint32_t> node_of);

// What moves payload, in addition.
struct payload_facts {
  std::uint32_t fragment = 0, depth = 0;   // of multicast; 0: there is none
  double multicast_us = not_known, multicast_bytes_per_ns = not_known;
};
payload_facts payload_facts_of(transport&, bool multicast);
void add_payload(choice_inputs&, const payload_facts&);

}  // namespace tutti
