#include "collectives/pick.h"

#include <algorithm>
#include <vector>

#include "collectives/bcast/broadcast_wire.h"
#include "collectives/communicator.h"
#include "collectives/price.h"
#include "collectives/tuning/table.h"
#include "core/engine/executor.h"
#include "core/transport/multicast.h"

namespace tutti {

choice_inputs inputs_from(const fabric_facts& facts, bool multicast, std::span<const std::uint32_t> node_of) {
  choice_inputs in;
  in.ranks = static_cast<std::uint32_t>(node_of.size());
  in.node_of = node_of;
  in.multicast = multicast, in.multicast_us = if_known(facts.multicast_us);
  in.held_by_root = in.target_works = facts.target_must_progress != 0;
  in.native_atomics = facts.native_atomics != 0;
  in.mapped = facts.maps_node != 0;
  in.exposes = facts.exposes_any != 0 && facts.max_bytes >= sizeof(exposure_record), in.kernel_copies = facts.kernel_copies != 0;
  in.network = facts.network, in.node = facts.node;
  in.piece = facts.max_bytes;
  const bool inside = facts.network_message != facts.node_message && summarize_nodes(in.ranks, node_of).nodes == 1;
  in.message_bytes = (inside ? facts.node_message : facts.network_message) / 64 * 64;
  return in;
}

payload_facts payload_facts_of(transport& net, bool multicast) {
  payload_facts out;
  if (!multicast || !net.mcast()) return out;
  const auto limits = net.mcast()->query();
  out.fragment = limits.max_payload, out.depth = limits.receive_depth;
  out.multicast_us = limits.latency_us.value_or(not_known), out.multicast_bytes_per_ns = limits.bytes_per_ns.value_or(not_known);
  return out;
}

void add_payload(choice_inputs& in, const payload_facts& facts) {
  in.fragment = facts.fragment, in.multicast = facts.fragment > 0;
  in.multicast_us = if_known(facts.multicast_us), in.multicast_bytes_per_ns = if_known(facts.multicast_bytes_per_ns);
  in.window = broadcast_wire::layout_for(facts.fragment, facts.depth).window;
}

void choose_by(choice_inputs& in, const tuning::table* measured, std::string_view fabric) {
  in.measured = measured, in.fabric = fabric;
  if (!measured) return;
  if (const tuning::calibration* c = measured->of_fabric(fabric)) c->apply(in);
}

result<choice_inputs> barrier_inputs(const fabric_facts& facts, std::string_view fabric, bool multicast, std::span<const std::uint32_t> node_of,
                                     double ranks_per_core, const communicator_options& o) {
  auto wanted = parse_wanted(collective::barrier, o.barrier);
  if (!wanted) return wanted.error();
  if (o.radix) wanted->radix = o.radix;
  if (wanted->name.empty()) wanted->radix = 0;
  choice_inputs in = inputs_from(facts, multicast && o.multicast, node_of);
  in.ranks_per_core = ranks_per_core;
  in.wanted = *wanted;
  choose_by(in, o.measured.get(), fabric);
  return in;
}

result<std::vector<candidate>> barriers_for(const layout& where, const fabric_facts& facts, std::string_view fabric, bool multicast,
                                            std::span<const std::uint32_t> node_of, const communicator_options& o) {
  const auto in = barrier_inputs(facts, fabric, multicast, node_of, where.most_ranks_per_core(), o);
  if (!in) return in.error();
  return choose(collective::barrier, *in);
}

result<picked_barrier> pick_barrier(const layout& where, const fabric_facts& facts, std::string_view fabric, bool multicast,
                                    const rank_map& members, const communicator_options& o, std::uint32_t most_lines) {
  std::vector<std::uint32_t> nodes(members.size());
  for (std::uint32_t i = 0; i < members.size(); ++i) nodes[i] = where.node_of[members[i]];
  const auto in = barrier_inputs(facts, fabric, multicast, nodes, where.most_ranks_per_core(), o);
  if (!in) return in.error();
  if (o.forced()) {
    const auto wanted = choose_first(collective::barrier, *in);
    if (!wanted) return wanted.error();
    const auto lines = team_barrier::lines_for(*wanted, nodes, members.size());
    if (lines <= most_lines) return picked_barrier{*wanted, lines};
    return status(errc::unsupported, worded("barrier ", to_string(*wanted), " needs ", lines,
                                            " lines of control memory, the team was made with ", most_lines,
                                            "; set TUTTI_BARRIER for the whole job"));
  }
  const auto candidates = choose(collective::barrier, *in);
  if (!candidates) return candidates.error();
  for (const candidate& c : *candidates) {
    const auto lines = team_barrier::lines_for(c, nodes, members.size());
    if (c.runnable && lines <= most_lines) return picked_barrier{c, lines};
  }
  return status(errc::unsupported, worded("no barrier fits into ", most_lines, " lines of control memory"));
}

result<picked_barrier> pick_barrier(job& j, const rank_map& members, const communicator_options& o, std::uint32_t most_lines) {
  return pick_barrier(j.where(), j.facts(), j.fabric(), j.net().mcast() != nullptr, members, o, most_lines);
}

}  // namespace tutti
