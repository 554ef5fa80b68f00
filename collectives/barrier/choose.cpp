#include "collectives/barrier/choose.h"

#include <algorithm>

#include "collectives/barrier/algorithms.h"
#include "collectives/barrier/price.h"
#include "core/base/listing.h"

namespace tutti {
namespace {

struct team {
  std::uint32_t ranks, nodes, largest;
  bool crowded;  // on one node, more ranks than cores
};

bool always(const team&) { return true; }
bool one_node(const team& t) { return t.nodes == 1; }
bool nested(const team& t) { return t.nodes > 1 && t.largest > 1; }
template <std::uint32_t N>
bool at_least(const team& t) { return t.ranks >= N; }
// n-way sends n * k * log_k n messages in all. Alone on a core they overlap; on a shared one each delays a neighbour.
template <std::uint32_t N>
bool roomy_at_least(const team& t) { return t.ranks >= N && !t.crowded; }
template <std::uint32_t N>
bool nested_at_least(const team& t) { return nested(t) && t.nodes >= N; }

// The candidates. What stands earlier wins a tie. Fan-ins as measured (`tutti perf barrier --fan-in 1..15`; 16 ranks on 2
// cores, us, lower quartiles):
//   fan-in                1    2    3    4    5    6    7    8   10   15
//   ucx:tcp  multicast  485  468  465  438  439  461  438  429  437  430
//            tree       448  433  420  416  412  425  422  399  422  406
//   ofi:tcp  multicast  651  589  575  581  568  519  558  584  563  401
//            tree       725  691  672  633  662  660  624  664  686  650
// A level is a time that somebody has to be woken, so few are bad; from 4 on it makes no difference that can be told from
// chance. So 7 stays, which was Kini's best, and 15 for who wants one level; trees start at 3, since their parents also
// send that many, one after the other.
struct entry {
  std::string_view name;
  std::uint32_t radix;
  std::string_view leaders;
  bool (*considered)(const team&);
  std::string_view reason;
};
constexpr entry entries[] = {
    {"dissemination", 0, "", always, "one partner a round, ceil(log2 n) rounds at any size, all ranks alike"},
    {"pairwise", 0, "", always, "as dissemination for powers of two, two steps more otherwise (Kini 2003, 6)"},
    {"nway", 3, "", roomy_at_least<3>, "fewer rounds of two messages: pays where sending is cheap against latency"},
    {"nway", 4, "", roomy_at_least<4>, "half the rounds, of three messages: pays where sending is cheap against latency"},
    {"nway", 8, "", roomy_at_least<8>, "a third of the rounds, of seven messages: for low overhead and long wires"},
    {"tree", 3, "", at_least<5>, "2(n-1) messages in all: pays where the fabric is the bottleneck"},
    {"tree", 7, "", at_least<9>, "as a tree of 3 with fewer levels and busier parents"},
    {"flat", 0, "", one_node, "two hops through the master: for few ranks on one node (Gupta 2002, 5.2)"},
    {"counter", 0, "", one_node, "each rank waits once, nobody for the master: best when ranks outnumber cores"},
    {"multicast", 3, "", at_least<3>, "the release is one multicast, whatever the size (Kini 2003, 6)"},
    {"multicast", 7, "", at_least<5>, "the release is one multicast; fan-in 7 was the best at 16 ranks (Kini 2003, 6)"},
    {"multicast", 15, "", at_least<9>, "the release is one multicast; one level up to 16 ranks"},
    {"hierarchical", 0, "dissemination", nested, "only leaders use the network (Gupta 2002, 5.3)"},
    {"hierarchical", 4, "nway", nested_at_least<4>, "only leaders use the network, in half the rounds"},
    {"hierarchical", 3, "tree", nested_at_least<5>, "only leaders use the network, with the fewest messages"},
    {"hierarchical", 7, "multicast", nested_at_least<2>, "leaders gather, one multicast releases every rank"},
};

const barrier_algorithm* upper_of(const barrier_candidate& c) {
  return c.algorithm->on_nodes || c.algorithm->offloaded ? find_barrier(c.leaders) : nullptr;
}

bool multicasts(const barrier_candidate& c) {
  const barrier_algorithm* upper = upper_of(c);
  return c.algorithm->needs_multicast || (upper && upper->needs_multicast);
}

std::string missing(const barrier_candidate& c, const barrier_inputs& in) {
  if (multicasts(c) && !in.multicast) return "the transport of this team has no multicast";
  return {};
}

// Of what is not asked for by name.
std::string objection(const barrier_candidate& c, const barrier_inputs& in) {
  if (std::string lack = missing(c, in); !lack.empty()) return lack;
  if (multicasts(c) && in.held_by_root)
    return "by name only: who loses the release waits for the root's next call, unless TUTTI_PROGRESS=thread";
  return {};
}

barrier_costs costs_of(const barrier_inputs& in) {
  return {in.network, in.node, in.multicast_us, turn_us(in.ranks_per_core), in.ranks_per_core, in.native_atomics, in.mapped};
}

void price(barrier_candidate& c, const barrier_inputs& in) {
  barrier_shape shape;
  shape.size = in.ranks, shape.radix = c.radix, shape.node_of = in.node_of, shape.leaders = c.leaders;
  const picoseconds cost = price_barrier(*c.algorithm, shape, costs_of(in));
  c.cost_us = cost < 0 ? -1 : static_cast<double>(cost) / 1e6;
}

std::string known_names(const barrier_inputs* runnable_for) {
  std::string out;
  for (const barrier_algorithm& row : barrier_algorithms()) {
    if (runnable_for && row.needs_multicast && !runnable_for->multicast) continue;
    add_to_list(out, row.name);
  }
  return out;
}

status refuse(std::string text) { return {errc::invalid, std::move(text)}; }

result<barrier_candidate> from_override(const barrier_inputs& in) {
  const barrier_override& w = in.wanted;
  barrier_candidate c;
  c.algorithm = find_barrier(w.name);
  if (!c.algorithm) return refuse("there is no barrier \"" + w.name + "\"; known: " + known_names(nullptr));
  const barrier_algorithm* parameterized = c.algorithm;
  if (c.algorithm->on_nodes) {
    parameterized = find_barrier(w.leaders.empty() ? "dissemination" : w.leaders);
    if (!parameterized || parameterized->on_nodes || parameterized->offloaded)
      return refuse("\"" + w.leaders + "\" is no barrier for the leaders of nodes; known: " + known_names(nullptr));
    c.leaders = parameterized->name;
  } else if (c.algorithm->offloaded) {
    parameterized = find_barrier(w.leaders.empty() ? "dissemination" : w.leaders);
    if (!parameterized || !barriers::can_be_offloaded(*parameterized))
      return refuse("\"" + w.leaders + "\" is no barrier that can be offloaded; dissemination, pairwise, nway, tree and flat are");
    c.leaders = parameterized->name;
  } else if (!w.leaders.empty()) {
    return refuse("the barrier " + w.name + " has no leaders to run \"" + w.leaders + "\" among; hierarchical has");
  }
  if (w.radix && !parameterized->default_radix)
    return refuse("the barrier " + std::string(parameterized->name) + " takes no radix, " + std::to_string(w.radix) +
                  " was given");
  if (w.radix && w.radix < parameterized->least_radix)
    return refuse("the barrier " + std::string(parameterized->name) + " needs a radix of at least " +
                  std::to_string(parameterized->least_radix) + ", " + std::to_string(w.radix) + " was given");
  c.radix = w.radix;
  c.why = "asked for by name";
  if (const std::string lack = missing(c, in); !lack.empty())
    return status(errc::unsupported, "the barrier " + to_string(c) + " cannot run: " + lack +
                                         "; what can: " + known_names(&in));
  price(c, in);
  return c;
}

bool same(const barrier_candidate& a, const barrier_candidate& b) {
  const auto radix = [](const barrier_candidate& c) {
    const barrier_algorithm* upper = upper_of(c);
    return c.radix ? c.radix : upper ? upper->default_radix : c.algorithm->default_radix;
  };
  return a.algorithm == b.algorithm && radix(a) == radix(b) && a.leaders == b.leaders;
}

}  // namespace

result<std::vector<barrier_candidate>> choose_barrier(const barrier_inputs& in) {
  if (in.ranks == 0) return refuse("a team of 0 ranks has no barrier");
  if (!in.node_of.empty() && in.node_of.size() != in.ranks)
    return refuse("node_of names " + std::to_string(in.node_of.size()) + " ranks of " + std::to_string(in.ranks));
  std::vector<barrier_candidate> out;
  if (!in.wanted.name.empty()) {
    result<barrier_candidate> wanted = from_override(in);
    if (!wanted) return wanted.error();
    out.push_back(*wanted);
  }
  const std::size_t ranked_from = out.size();
  const node_summary where = summarize_nodes(in.ranks, in.node_of);
  const team facts{in.ranks, where.nodes, where.largest, where.nodes == 1 && in.ranks_per_core > 1};
  for (const entry& e : entries) {
    if (!e.considered(facts)) continue;
    barrier_candidate c{find_barrier(e.name), e.radix, e.leaders, 0, true, std::string(e.reason)};
    if (ranked_from && same(out[0], c)) continue;
    price(c, in);
    if (const std::string lack = objection(c, in); !lack.empty()) c.runnable = false, c.why = lack;
    out.push_back(std::move(c));
  }
  // Runnable before not, priced before unpriced; the price is a whole number of picoseconds, so this order is exact.
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(ranked_from), out.end(),
                   [](const barrier_candidate& a, const barrier_candidate& b) {
                     if (a.runnable != b.runnable) return a.runnable;
                     if ((a.cost_us < 0) != (b.cost_us < 0)) return b.cost_us < 0;
                     return a.cost_us < b.cost_us;
                   });
  return out;
}

}  // namespace tutti
