// Nodes first (Gupta 2002, 5.3): a flat tree inside each node, another algorithm among the nodes' leaders, and the
// leaders release their nodes. Only leaders use the network. A node's leader is its lowest team index; nodes may differ
// in size and their ranks need not be contiguous.
//
// Lines: m-1 for the flat trees, where m is the largest number of ranks on a node, then those of the leaders' algorithm
// for as many ranks as there are nodes. In a leader line i-1 is the flag of its node's i-th rank; in any other rank
// line 0 is its release. The leaders' lines come behind them, so the two phases share none.
//
// With multicast among the leaders everybody awaits the datagram: the group is the whole team's, so it reaches the
// others as well, and the release inside the nodes falls away.
//
// Safe (with barriers.h): a leader enters the leaders' barrier after the flags of its whole node have reached e, so
// that barrier, safe by itself, completes after all have entered e. A rank sets its flag to e+1 after its release from
// e, which its leader (or the root) sent after the leader had read that flag.
#include <algorithm>
#include <utility>

#include "collectives/barrier/barriers.h"

namespace tutti::barriers {
namespace {

struct node_view {
  std::vector<std::uint32_t> leaders;   // team index of each node's leader, ascending
  std::vector<std::uint32_t> mates;     // my node's ranks, ascending; the first is its leader
  std::uint32_t largest = 1;            // ranks on the fullest node
};

node_view look(const shape& s) {
  node_view v;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_node(s.size);  // (node, team index)
  for (std::uint32_t i = 0; i < s.size; ++i) by_node[i] = {s.node_of.empty() ? 0 : s.node_of[i], i};
  const std::uint32_t mine = by_node[s.rank].first;
  if (!std::is_sorted(by_node.begin(), by_node.end())) std::sort(by_node.begin(), by_node.end());  // mostly it is
  for (std::size_t i = 0, first = 0; i < by_node.size(); ++i) {
    if (by_node[i].first != by_node[first].first) first = i;
    if (i == first) v.leaders.push_back(by_node[i].second);
    if (by_node[i].first == mine) v.mates.push_back(by_node[i].second);
    v.largest = std::max(v.largest, static_cast<std::uint32_t>(i - first + 1));
  }
  std::sort(v.leaders.begin(), v.leaders.end());
  return v;
}

// The leaders' algorithm. A name that is unknown, or this one again, means the default; the chooser refuses both.
const algorithm& among_leaders(const shape& s) {
  const algorithm* a = find_algorithm(collective::barrier, s.inner);
  return a && !a->needs.nodes ? *a : dissemination;
}

shape leaders_shape(const shape& s, const node_view& v) {
  shape inner;
  inner.size = static_cast<std::uint32_t>(v.leaders.size());
  inner.radix = s.radix;
  return inner;
}

void append_remapped(schedule& out, schedule inner, const std::vector<std::uint32_t>& leaders, std::uint32_t offset) {
  for (step& st : inner.steps) {
    if (st.peer != any_peer) st.peer = leaders[st.peer];
    st.word += offset;
    out.steps.push_back(st);
  }
}

std::uint32_t words(const shape& s) {
  const node_view v = look(s);
  return v.largest - 1 + among_leaders(s).words(leaders_shape(s, v));
}

schedule make(const shape& s) {
  constexpr std::uint32_t release = 0;
  schedule out;
  const node_view v = look(s);
  const algorithm& upper = among_leaders(s);
  shape inner = leaders_shape(s, v);
  const std::uint32_t offset = v.largest - 1;
  out.words = offset + upper.words(inner);
  out.uses_multicast = upper.needs.multicast && inner.size > 1;

  const std::uint32_t leader = v.mates.front();
  if (s.rank != leader) {
    const auto place = std::lower_bound(v.mates.begin(), v.mates.end(), s.rank) - v.mates.begin();
    out.signal(leader, static_cast<std::uint32_t>(place) - 1);
    if (out.uses_multicast)
      out.add(step_kind::await_multicast, v.leaders.front());
    else
      out.wait(leader, release);
    return out;
  }
  for (std::uint32_t i = 1; i < v.mates.size(); ++i) out.wait(v.mates[i], i - 1);
  inner.rank = static_cast<std::uint32_t>(std::lower_bound(v.leaders.begin(), v.leaders.end(), s.rank) -
                                          v.leaders.begin());
  append_remapped(out, upper.make(inner), v.leaders, offset);
  if (!out.uses_multicast)
    for (std::uint32_t i = 1; i < v.mates.size(); ++i) out.signal(v.mates[i], release);
  return out;
}

bool nested(const placement& p) { return p.nodes > 1 && p.largest > 1; }
template <std::uint32_t N>
bool nodes_from(const placement& p) { return nested(p) && p.nodes >= N; }
constexpr variant variants[] = {
    {.inner = "dissemination", .considered = nested, .reason = "only leaders use the network (Gupta 2002, 5.3)"},
    {.radix = 4, .inner = "nway", .considered = nodes_from<4>, .reason = "only leaders use the network, in half the rounds"},
    {.radix = 3, .inner = "tree", .considered = nodes_from<5>, .reason = "only leaders use the network, with the fewest messages"},
    {.radix = 7, .inner = "multicast", .considered = nested, .reason = "leaders gather, one multicast releases every rank"},
};

}  // namespace

extern const algorithm hierarchical;
constinit const algorithm hierarchical{
    .of = collective::barrier,
    .name = "hierarchical",
    .summary = "flat inside each node, another algorithm among the nodes' leaders",
    .source = "Gupta 2002, 5.3",
    .needs = {.nodes = true},
    .variants = variants,
    .words = words,
    .make = make,
};

}  // namespace tutti::barriers
