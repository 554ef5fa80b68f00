#include "collectives/pick.h"

#include <algorithm>
#include <vector>

#include "collectives/bcast/broadcast_wire.h"
#include "collectives/communicator.h"
#include "core/transport/multicast.h"

namespace tutti {

choice_inputs inputs_from(const fabric_facts& facts, bool multicast, std::span<const std::uint32_t> node_of) {
  choice_inputs in;
  in.ranks = static_cast<std::uint32_t>(node_of.size());
  in.node_of = node_of;
  in.multicast = multicast, in.multicast_us = facts.multicast_us;
  in.held_by_root = in.target_works = facts.target_must_progress != 0;
  in.native_atomics = facts.native_atomics != 0;
  in.mapped = facts.maps_node != 0;
  in.network = facts.network, in.node = facts.node;
  in.piece = facts.max_bytes;
  return in;
}

payload_facts payload_facts_of(transport& net, bool multicast) {
  payload_facts out;
  if (!multicast || !net.mcast()) return out;
  const auto limits = net.mcast()->query();
  out.fragment = limits.max_payload, out.depth = limits.receive_depth;
  out.multicast_us = limits.latency_us, out.multicast_bytes_per_ns = limits.bytes_per_ns;
  return out;
}

void add_payload(choice_inputs& in, const payload_facts& facts) {
  in.fragment = facts.fragment, in.multicast = facts.fragment > 0;
  in.multicast_us = facts.multicast_us, in.multicast_bytes_per_ns = facts.multicast_bytes_per_ns;
  in.window = broadcast_wire::layout_for(facts.fragment, facts.depth).window;
}

result<picked_barrier> pick_barrier(const layout& where, const fabric_facts& facts, bool multicast, const rank_map& members,
                                    const communicator_options& o, std::uint32_t most_lines) {
  std::vector<std::uint32_t> nodes(members.size());
  for (std::uint32_t i = 0; i < members.size(); ++i) nodes[i] = where.node_of[members[i]];

  auto wanted = parse_wanted(collective::barrier, o.barrier);
  if (!wanted) return wanted.error();
  if (o.radix) wanted->radix = o.radix;
  if (wanted->name.empty()) wanted->radix = 0;
  choice_inputs in = inputs_from(facts, multicast && o.multicast, nodes);
  in.ranks_per_core = where.most_ranks_per_core();
  in.wanted = *wanted;
  auto candidates = choose(collective::barrier, in);
  if (!candidates) return candidates.error();
  for (const candidate& c : *candidates) {
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
