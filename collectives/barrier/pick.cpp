#include "collectives/barrier/pick.h"

#include <vector>

#include "collectives/communicator.h"
#include "core/transport/multicast.h"

namespace tutti {

barrier_inputs barrier_inputs_of(transport& net, std::span<const std::uint32_t> node_of) {
  const capabilities& c = net.caps();
  barrier_inputs in;
  in.ranks = static_cast<std::uint32_t>(node_of.size());
  in.node_of = node_of;
  in.multicast = net.mcast() != nullptr;
  if (in.multicast) in.multicast_us = net.mcast()->query().latency_us;
  in.held_by_root = c.target_must_progress;
  in.native_atomics = c.native_atomics;
  in.mapped = c.maps_mates;
  in.network = c.cost;
  in.node = c.node_cost.latency_us > 0 ? c.node_cost : c.cost;
  return in;
}

result<picked_barrier> pick_barrier(const layout& where, transport& net, const rank_map& members,
                                    const communicator_options& o, std::uint32_t most_lines) {
  std::vector<std::uint32_t> nodes(members.size());
  for (std::uint32_t i = 0; i < members.size(); ++i) nodes[i] = where.node_of[members[i]];

  auto wanted = parse_barrier_override(o.barrier);
  if (!wanted) return wanted.error();
  if (o.radix) wanted->radix = o.radix;
  if (wanted->name.empty()) wanted->radix = 0;
  barrier_inputs in = barrier_inputs_of(net, nodes);
  in.multicast = in.multicast && o.multicast;
  in.ranks_per_core = where.most_ranks_per_core();
  in.wanted = *wanted;
  auto candidates = choose_barrier(in);
  if (!candidates) return candidates.error();
  for (const barrier_candidate& c : *candidates) {
    const auto lines = team_barrier::lines_for(c, nodes, in.ranks);
    if (c.runnable && lines <= most_lines) return picked_barrier{c, lines};
    if (!wanted->name.empty())
      return status(errc::unsupported, "barrier " + to_string(c) + " needs " + std::to_string(lines) +
                                           " lines of control memory, the team was made with " +
                                           std::to_string(most_lines) + "; set TUTTI_BARRIER for the whole job");
  }
  return status(errc::unsupported, "no barrier fits into " + std::to_string(most_lines) + " lines of control memory");
}

}  // namespace tutti
