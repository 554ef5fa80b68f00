#include "collectives/barrier/pick.h"

#include <vector>

#include "collectives/communicator.h"

namespace tutti {
namespace {

// Inside a node, where the transport's own cost speaks of the network. Microseconds; measured between two cores.
constexpr loggp node_prior{0.1, 0.03, 0.02, 15.0};

}  // namespace

result<picked_barrier> pick_barrier(job& j, const rank_map& members, const communicator_options& o,
                                    std::uint32_t most_lines) {
  // Whether a provider maps its mates' memory does not depend on the mate: one that is mapped stands for all.
  const bool mapped = j.net().map(j.world().segment(), j.rank()) != nullptr;
  return pick_barrier(j.where(), j.net(), mapped, members, o, most_lines);
}

result<picked_barrier> pick_barrier(const layout& where, transport& net, bool mapped, const rank_map& members,
                                    const communicator_options& o, std::uint32_t most_lines) {
  std::vector<std::uint32_t> nodes(members.size());
  bool one_node = true;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    nodes[i] = where.node_of[members[i]];
    one_node = one_node && nodes[i] == nodes[0];
  }

  auto wanted = parse_barrier_override(o.barrier);
  if (!wanted) return wanted.error();
  if (o.radix) wanted->radix = o.radix;
  if (wanted->name.empty()) wanted->radix = 0;
  barrier_inputs in;
  in.ranks = members.size();
  in.node_of = nodes;
  in.multicast = o.multicast && net.mcast() != nullptr;
  if (in.multicast) in.multicast_us = net.mcast()->query().latency_us;
  in.native_atomics = net.caps().native_atomics;
  in.mapped = mapped;
  in.ranks_per_core = where.most_ranks_per_core();
  in.network = net.caps().cost;
  in.node = one_node ? net.caps().cost : node_prior;
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
