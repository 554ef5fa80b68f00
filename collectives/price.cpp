#include "collectives/price.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tutti {
namespace {

picoseconds by_form(const algorithm& a, const form_input& in) {
  if (!a.form.chain) return -1;
  const picoseconds work = in.inside && a.form.messages ? a.form.messages(in) * in.link.message() : 0;
  return chain_and_work(a.form.chain(in), shared_work(work, in.size, in.all.ranks_per_core));
}

constexpr std::uint32_t some_runs = 3, runs_in_turns = 5;  // the latter where ranks share cores, which settles later
constexpr std::uint32_t all_sets_up_to = 32;  // ranks: more take too long

picoseconds amid_others(const algorithm& a, const shape& s, const costs& c, const partition& data) {
  const std::uint32_t some = c.ranks_per_core > 1 ? runs_in_turns : some_runs;
  const picoseconds alone = evaluate(a, s, c, data), several = evaluate(a, s, c, data, some);
  if (alone < 0 || several < 0) return -1;
  const picoseconds each = (several - alone) / (some - 1);
  const picoseconds alone_adds = (alone - each) / alone_counts;
  if (!owner_of(a).data.synchronizes) return each + alone_adds;
  // All wait for the last one before they use the first set again. How far calls overlap until then is exact where ranks have cores of
  // their own, and depends on whom the kernel lets run where they share some.
  constexpr std::uint32_t sets = data_layout::sets_in_turn;
  const std::uint32_t runs = s.size <= all_sets_up_to ? sets : 1;
  shape first = s;
  first.first_set = true;
  const picoseconds synchronized = evaluate(a, first, c, data, runs);
  return synchronized < 0 ? -1 : (synchronized + (sets - runs) * each) / sets + (c.ranks_per_core > 1 ? alone_adds : 0);
}

}  // namespace

picoseconds estimate(const algorithm& a, const shape& s, const costs& c, const partition& data) {
  if (a.phases) return -1;  // of what would be chosen for each: collectives/hierarchy.h
  const node_summary where = summarize_nodes(s.size, s.node_of);
  link_cost node = in_picoseconds(c.node);
  const link_cost network = in_picoseconds(c.network);
  if (c.ranks_per_core > 1) node.overhead += node.latency / 2, node.latency = 0;  // L is a core's work as well
  const picoseconds turn = in_picoseconds(c.turn_us());
  const bool one_node = where.nodes == 1;
  if (!a.needs.nodes)
    return by_form(a, {s.size, s.radix, one_node ? node : network, turn, c, one_node, one_node && c.mapped, data.bytes,
                       a.data.most_bytes ? std::min(full_slot(a, c.message_bytes), data.piece) : data.piece});

  // Flat inside the nodes; where the leaders multicast, everybody is released by that.
  const algorithm* leaders = find_algorithm(a.of, s.inner);
  const algorithm& upper = leaders ? *leaders : algorithms(a.of)[0];
  const picoseconds among = by_form(upper, {where.nodes, s.radix, network, turn, c, false, false, data.bytes, data.piece});
  if (among < 0) return -1;
  const picoseconds inside = where.largest > 1 ? 2 * hop({where.largest, 0, node, turn, c, true, c.mapped}, where.largest - 1) : 0;
  return among + (upper.needs.multicast && where.nodes > 1 ? inside / 2 : inside);
}

picoseconds price(const algorithm& a, const shape& s, const costs& c, const partition& data, bool alone) {
  if (s.size > evaluated_up_to) return estimate(a, s, c, data);
  // What has no schedule returns when all have all, so no two of its calls overlap.
  if (!a.make) return estimate(a, s, c, data);
  if (a.down_by_multicast) {
    algorithm up = a;
    up.down_by_multicast = false;
    const picoseconds gathered = price(up, s, c, data, alone);
    partition all = data;
    if (has_block_each(a.of)) all.bytes *= s.size;
    const picoseconds down = price(*find_algorithm(collective::broadcast, "multicast"), s, c, all);
    return gathered < 0 || down < 0 ? -1 : gathered + down;
  }
  if (!a.data.blocks || data.bytes == 0) return c.ranks_per_core > 1 && !alone ? amid_others(a, s, c, data) : evaluate(a, s, c, data);
  const run_room room = room_of(a, s, data.piece, c.message_bytes);
  const partition first = next_run(a, room, data.bytes);
  if (first.bytes == 0) return -1;
  // A broadcast that scatters a single block is a chain, which ranks that share cores go through only in the order that the kernel likes.
  if (a.of == collective::broadcast && a.data.even && first.bytes <= first.piece && c.ranks_per_core > 1) return -1;
  const std::uint64_t moved = moved_by(a, first);
  const auto whole = static_cast<picoseconds>(data.bytes / moved);
  const partition rest = next_run(a, room, data.bytes % moved);
  const auto of_run = [&](const partition& run) { return alone ? evaluate(a, s, c, run) : amid_others(a, s, c, run); };
  return whole * of_run(first) + (rest.bytes ? of_run(rest) : 0);
}

// Kini 2003 (2.1.3) saw 9.6 us for a multicast, to one node or to seven, about half more than for an RDMA write.
picoseconds multicast_cost(const costs& c, const link_cost& link) noexcept {
  return c.multicast_us ? in_picoseconds(*c.multicast_us) + 2 * link.overhead : link.message() * 3 / 2;
}

picoseconds shared_work(picoseconds work, std::uint32_t ranks, double ranks_per_core) noexcept {
  if (ranks_per_core <= 1 || ranks == 0) return 0;
  return work / ranks * std::llround(ranks_per_core * 1000) / 1000;
}

picoseconds chain_and_work(picoseconds chain, picoseconds work) noexcept {
  return work == 0 ? chain : (std::max(chain, work) + chain + work) / 2;
}

node_summary summarize_nodes(std::uint32_t size, std::span<const std::uint32_t> node_of) {
  if (node_of.empty()) return {1, size};
  std::vector<std::uint32_t> sorted;  // ranks are mostly numbered node by node
  if (!std::ranges::is_sorted(node_of)) sorted.assign(node_of.begin(), node_of.end()), std::ranges::sort(sorted), node_of = sorted;
  node_summary out{0, 0};
  for (std::size_t i = 0, first = 0; i < node_of.size(); ++i) {
    if (node_of[i] != node_of[first]) first = i;
    if (i == first) ++out.nodes;
    out.largest = std::max(out.largest, static_cast<std::uint32_t>(i - first + 1));
  }
  return out;
}

}  // namespace tutti
