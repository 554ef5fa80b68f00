// Closed forms of the critical paths, for teams that are too large to evaluate. The tests hold them against the
// evaluation at smaller sizes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/barrier/algorithms.h"
#include "collectives/barrier/fan_in_tree.h"
#include "collectives/barrier/price.h"

namespace tutti {
namespace {

struct setting {
  std::uint32_t size, radix;
  link_cost link;
  picoseconds turn;
  const barrier_costs& costs;
  bool inside;  // a node
  bool by_cpu;  // additions
};

// A hop in which each sends to `n` and then takes in `n`.
picoseconds hop(const setting& s, std::uint32_t n) { return s.turn + s.link.message() + (n - 1) * s.link.interval(); }

picoseconds dissemination(const setting& s) { return rounds_of(s.size) * hop(s, 1); }

picoseconds pairwise(const setting& s) {
  const std::uint32_t rounds = rounds_of(std::bit_floor(s.size));
  return (rounds + (std::has_single_bit(s.size) ? 0 : 2)) * hop(s, 1);
}

picoseconds nway(const setting& s) {
  const std::uint32_t radix = s.radix ? s.radix : barriers::nway_default;
  picoseconds total = 0;
  for (std::uint64_t stride = 1; stride < s.size; stride *= radix)
    total += hop(s, static_cast<std::uint32_t>(std::min<std::uint64_t>((s.size - 1) / stride, radix - 1)));
  return total;
}

picoseconds gather(const setting& s, std::uint32_t fan_in) {
  const std::uint32_t levels = barriers::fan_in_tree(s.size, fan_in).levels();
  return levels ? (levels - 1) * hop(s, fan_in) + hop(s, barriers::fan_in_tree(s.size, fan_in).children(0) -
                                                             (levels - 1) * fan_in)
                : 0;
}

picoseconds tree(const setting& s) { return 2 * gather(s, s.radix ? s.radix : barriers::tree_default); }

picoseconds flat(const setting& s) { return s.size > 1 ? 2 * hop(s, s.size - 1) : 0; }

picoseconds counter(const setting& s) {
  if (s.size < 2) return 0;
  const picoseconds each = s.by_cpu ? s.link.overhead + s.link.latency
                           : s.costs.native_atomics ? s.link.gap : s.link.interval();
  const picoseconds trip = s.by_cpu ? 0 : 2 * s.link.message() - 2 * s.link.overhead;
  return trip + s.size * each + hop(s, s.size - 1);
}

picoseconds multicast(const setting& s) {
  if (s.size < 2) return 0;
  return gather(s, s.radix ? s.radix : barriers::multicast_default) + s.turn + multicast_cost(s.costs, s.link);
}

// How many messages all ranks send in one barrier.
using count = std::int64_t;
count in_every_round(const setting& s) { return count{s.size} * rounds_of(s.size); }
count in_pairs(const setting& s) {
  const std::uint32_t paired = std::bit_floor(s.size);
  return count{paired} * rounds_of(paired) + 2 * count{s.size - paired};
}
count in_wide_rounds(const setting& s) {
  const std::uint32_t radix = s.radix ? s.radix : barriers::nway_default;
  count each = 0;
  for (std::uint64_t stride = 1; stride < s.size; stride *= radix)
    each += static_cast<count>(std::min<std::uint64_t>((s.size - 1) / stride, radix - 1));
  return each * s.size;
}
count up(const setting& s) { return count{s.size} - 1; }
count up_and_down(const setting& s) { return 2 * up(s); }
count to_the_counter(const setting& s) { return (s.by_cpu ? 1 : s.costs.native_atomics ? 2 : 3) * up(s); }

struct form {
  std::string_view name;
  picoseconds (*chain)(const setting&);
  count (*messages)(const setting&);
};
constexpr form forms[] = {{"dissemination", dissemination, in_every_round}, {"pairwise", pairwise, in_pairs},
                          {"nway", nway, in_wide_rounds},                   {"tree", tree, up_and_down},
                          {"flat", flat, up_and_down},                      {"counter", counter, to_the_counter},
                          {"multicast", multicast, up_and_down},            {"offloaded", dissemination, in_every_round}};

picoseconds by_form(std::string_view name, const setting& s) {
  for (const form& f : forms)
    if (f.name == name)
      return chain_and_work(f.chain(s), s.inside ? shared_work(f.messages(s) * s.link.message(), s.size, s.costs.ranks_per_core) : 0);
  return -1;
}

}  // namespace

picoseconds estimate_barrier(const barrier_algorithm& a, const barrier_shape& shape, const barrier_costs& costs) {
  const node_summary where = summarize_nodes(shape.size, shape.node_of);
  const link_cost node = in_picoseconds(costs.node), network = in_picoseconds(costs.network);
  const picoseconds turn = in_picoseconds(costs.turn_us);
  const bool one_node = where.nodes == 1;
  if (!a.on_nodes)
    return by_form(a.name, {shape.size, shape.radix, one_node ? node : network, turn, costs, one_node,
                            one_node && costs.mapped});

  const setting inside{where.largest, 0, node, turn, costs, true, costs.mapped};
  const setting among{where.nodes, shape.radix, network, turn, costs, false, false};
  const barrier_algorithm* leaders = shape.leaders.empty() ? nullptr : find_barrier(shape.leaders);
  const picoseconds upper = by_form(leaders ? leaders->name : "dissemination", among);
  if (upper < 0) return -1;
  return upper + (leaders && leaders->needs_multicast && where.nodes > 1 ? flat(inside) / 2 : flat(inside));
}

picoseconds price_barrier(const barrier_algorithm& a, const barrier_shape& shape, const barrier_costs& costs) {
  return shape.size <= evaluated_up_to ? evaluate_barrier(a, shape, costs) : estimate_barrier(a, shape, costs);
}

// Kini 2003 (2.1.3) saw 9.6 us for a multicast, to one node or to seven, about half more than for an RDMA write.
picoseconds multicast_cost(const barrier_costs& costs, const link_cost& link) noexcept {
  return costs.multicast_us > 0 ? in_picoseconds(costs.multicast_us) + 2 * link.overhead : link.message() * 3 / 2;
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
  std::vector<std::uint32_t> nodes(node_of.begin(), node_of.end());
  std::sort(nodes.begin(), nodes.end());
  node_summary out{0, 0};
  for (std::size_t i = 0, first = 0; i < nodes.size(); ++i) {
    if (nodes[i] != nodes[first]) first = i;
    if (i == first) ++out.nodes;
    out.largest = std::max(out.largest, static_cast<std::uint32_t>(i - first + 1));
  }
  return out;
}

}  // namespace tutti
