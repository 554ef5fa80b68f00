#include "collectives/choose.h"

#include <algorithm>
#include <array>

#include "collectives/explain_text.h"
#include "collectives/hierarchy.h"
#include "collectives/price.h"
#include "collectives/tuning/table.h"

namespace tutti {
namespace {

// The algorithm that runs among the leaders, or in the fabric.
const algorithm* inner_of(const candidate& c) {
  return c.row->needs.nodes || c.row->needs.offload ? find_algorithm(c.row->of, c.inner) : nullptr;
}

bool multicasts(const candidate& c) {
  const algorithm* inner = inner_of(c);
  return c.row->needs.multicast || (inner && inner->needs.multicast);
}

bool leaves_losers(const candidate& c) {
  const algorithm* inner = inner_of(c);
  return c.row->needs.root_calls || (inner && inner->needs.root_calls);
}

bool one_node(const choice_inputs& in) {
  return std::all_of(in.node_of.begin(), in.node_of.end(), [&](std::uint32_t node) { return node == in.node_of[0]; });
}

std::string missing(const candidate& c, const choice_inputs& in) {
  if (c.row->needs.commutative && !in.commutative) return "the operation is not commutative";
  if (c.row->needs.alike && in.unlike) return "the blocks are of unlike lengths";
  if (c.row->data.together && in.long_elements) return "elements are longer than " + std::to_string(short_element) + " bytes";
  if (!c.row->canonical && in.canonical) return "it groups operands in a way of its own (TUTTI_REPRODUCIBLE)";
  if (c.row->phases) {
    const node_map nodes(in.node_of);
    if (!nodes.consecutive && !(c.row->phases->mixed_nodes && in.commutative)) return "ranks of a node do not follow each other";
  }
  if (c.row->needs.mapped && !(in.costs::mapped && one_node(in))) return "the ranks' memory is not mapped to each other";
  if (c.row->data.exposes && !in.exposes) return "memory that is registered for a call only is not reached by peers here";
  return multicasts(c) && !in.multicast ? "the transport of this team has no multicast" : "";
}

// Of what is not asked for by name.
std::string objection(const candidate& c, const choice_inputs& in) {
  if (std::string lack = missing(c, in); !lack.empty()) return lack;
  // A get that its target answers moves the bytes twice as well, and after a request. What is put into slots in pieces is no slower, and stays
  // in the caches where ranks share cores: blocks of 1 MiB to all of 4 and 8 ranks on 2 cores, over UCX's tcp, took 1.46 and 7.3 ms for
  // 2.1 and 12.5; a broadcast of 1 MiB to one rank 0.31 for 0.51 over libfabric's.
  const bool by_kernel = in.kernel_copies && one_node(in), by_messages = in.target_works || (in.costs::mapped && one_node(in));
  if (c.row->data.exposes && by_messages && !by_kernel)
    return "by name only: messages carry a get here, no faster than what is put in pieces";
  if (leaves_losers(c) && in.held_by_root)
    return "by name only: who loses the release waits for the root's next call, unless TUTTI_PROGRESS=thread";
  return {};
}

// An error: a phase of it has no algorithm.
status set_price(candidate& c, const choice_inputs& in) {
  if (c.row->phases) {
    const auto cost = price_of(*c.row, in, {std::string(c.inner), c.radix, {}});
    if (cost) c.cost_us = *cost;
    return cost.error();
  }
  c.cost_us = predicted_us(c, in);
  return {};
}

status refuse(std::string text) { return {errc::invalid, std::move(text)}; }

// Without a price.
result<candidate> from_wanted(collective of, const choice_inputs& in) {
  const wanted_algorithm& w = in.wanted;
  const std::string what(name_of(of));
  candidate c;
  c.row = find_algorithm(of, w.name);
  if (!c.row) return refuse("there is no " + what + " \"" + w.name + "\"; known: " + known_algorithms(of));
  const algorithm* parameterized = c.row;
  if (c.row->needs.nodes || c.row->needs.offload) {
    parameterized = w.inner.empty() ? c.row->phases ? c.row : &algorithms(of)[0] : find_algorithm(of, w.inner);
    const bool fits = parameterized && (!parameterized->needs.nodes || w.inner.empty()) && !parameterized->needs.offload;
    if (c.row->needs.nodes && !fits)
      return refuse("\"" + w.inner + "\" is no " + what + " for the leaders of nodes; known: " + known_algorithms(of));
    if (c.row->needs.offload && !(parameterized && can_be_offloaded(*parameterized)))
      return refuse("\"" + w.inner + "\" is no " + what + " that can be offloaded; those of signals and waits alone are: " +
                    known_algorithms(of, can_be_offloaded));
    if (parameterized != c.row) c.inner = parameterized->name;
  } else if (!w.inner.empty()) {
    return refuse("the " + what + " " + w.name + " has no leaders to run \"" + w.inner + "\" among; hierarchical has");
  }
  if (w.radix && !parameterized->default_radix)
    return refuse("the " + what + " " + std::string(parameterized->name) + " takes no radix, " + std::to_string(w.radix) + " was given");
  if (w.radix && w.radix < parameterized->least_radix)
    return refuse("the " + what + " " + std::string(parameterized->name) + " needs a radix of at least " +
                  std::to_string(parameterized->least_radix) + ", " + std::to_string(w.radix) + " was given");
  c.radix = w.radix;
  c.why = "asked for by name";
  if (const std::string lack = missing(c, in); !lack.empty()) {
    const auto runs = [&in](const algorithm& a) { return missing({.row = &a}, in).empty(); };
    return status(errc::unsupported, worded("the ", what, " ", to_string(c), " cannot run: ", lack, "; what can: ", known_algorithms(of, runs)));
  }
  if (c.row->phases)
    if (const status s = check_phases(*c.row, in, {std::string(c.inner), c.radix, {}}); s.failed()) return s.during("among the nodes' leaders");
  return c;
}

status check(collective of, const choice_inputs& in) {
  if (in.ranks == 0) return refuse("a team of 0 ranks has no " + std::string(name_of(of)));
  if (!in.node_of.empty() && in.node_of.size() != in.ranks)
    return refuse("node_of names " + std::to_string(in.node_of.size()) + " ranks of " + std::to_string(in.ranks));
  return {};
}

bool same(const candidate& a, const candidate& b) noexcept {
  const auto radix = [](const candidate& c) {
    const algorithm* inner = inner_of(c);
    return c.radix ? c.radix : inner ? inner->default_radix : c.row->default_radix;
  };
  return a.row == b.row && radix(a) == radix(b) && a.inner == b.inner;
}

void mark_measured(std::span<candidate> all, const tuning::row& r) {
  for (candidate& c : all) {
    const tuning::timing* const t = r.of_candidate(c);
    if (!t || !c.runnable) continue;
    c.measured_us = t->us;
    c.why = "measured with " + std::to_string(r.ranks) + " ranks" + (r.bytes ? " and " + std::to_string(r.bytes) + " bytes" : "") + ", " +
            r.when + " on " + r.host + ": " + fixed(t->us) + " us, predicted " + (c.cost_us < 0 ? "?" : fixed(c.cost_us));
  }
}

// What decides: the first one's kind of number, which all that may come before the others have.
double time_of(const candidate& c) noexcept { return c.measured_us.value_or(c.cost_us); }

// What was measured before what was not, then priced before unpriced. A price is a whole number of picoseconds, and what was
// measured is alike in all ranks, so this order is exact.
bool better(const candidate& a, const candidate& b) noexcept {
  if (a.runnable != b.runnable) return a.runnable;
  if (a.measured_us.has_value() != b.measured_us.has_value()) return a.measured_us.has_value();
  if ((time_of(a) < 0) != (time_of(b) < 0)) return time_of(b) < 0;
  return time_of(a) < time_of(b);
}

// What the ranks of a core touch in a call, among others like it: the callers' memory, and the staging memory through which data come.
// A root's memory for all blocks counts once.
std::uint64_t touched_by(const candidate& c, const shape& s, const costs& all, std::uint64_t bytes, std::uint64_t piece) {
  const std::uint64_t n = s.size;
  std::uint64_t callers = 2 * bytes, roots = 0, come = bytes;
  switch (c.row->of) {
    case collective::broadcast: case collective::reduce: callers = bytes; break;
    case collective::gather: callers = bytes, roots = n * bytes, come = 0; break;
    case collective::scatter: callers = bytes, roots = n * bytes; break;
    case collective::allgather: case collective::reduce_scatter: callers = (n + 1) * bytes, come = n * bytes; break;
    case collective::alltoall: case collective::alltoallv: callers = 2 * n * bytes, come = n * bytes; break;
    default: break;
  }
  if (c.row->data.slots && all.ranks_per_core > 1) {  // else slots are taken by turns, more of them than a cache holds
    const algorithm& of = owner_of(*c.row);
    come = std::min(come, of.data.slots(s) * of.data.sets() * room_of(of, s, piece, all.message_bytes).slot_bytes);
  }
  return roots + static_cast<std::uint64_t>(std::max(1.0, all.ranks_per_core) * static_cast<double>(callers + come));
}

constexpr double tie = 1.05;

// Repair costs memory and, where something is lost, time, which no price counts.
void prefer_what_needs_no_repair(std::span<candidate> sorted) {
  if (sorted.empty() || !multicasts(sorted[0])) return;
  const auto plain = std::ranges::find_if(sorted, [](const candidate& c) { return !multicasts(c); });
  const candidate& first = sorted[0];
  if (plain == sorted.end() || !plain->runnable || plain->measured_us.has_value() != first.measured_us.has_value()) return;
  if (time_of(*plain) >= 0 && time_of(*plain) <= tie * time_of(first)) std::rotate(sorted.begin(), plain, plain + 1);
}

}  // namespace

double predicted_us(const candidate& c, const choice_inputs& in, bool alone) {
  const shape s{.size = in.ranks, .radix = c.radix, .node_of = in.node_of, .inner = c.inner};
  // A class is priced at its longest; one byte is where every class begins.
  const std::uint64_t bytes = in.bytes == 0 ? 0 : in.bytes > std::uint64_t{1} << 62 ? in.bytes : std::bit_ceil(in.bytes);
  const costs all = for_data_of(in, touched_by(c, s, in, bytes, in.piece));
  const picoseconds cost = price(*c.row, s, all, {bytes, in.piece}, alone);
  return cost < 0 ? -1 : static_cast<double>(cost) / 1e6;
}

std::uint64_t direct_beyond(choice_inputs in, const algorithm& chosen) {
  constexpr std::uint32_t evaluated = 32;  // ranks: more take long, for a bound that holds for every call
  if (chosen.of != collective::alltoallv || chosen.data.exposes || !in.wanted.name.empty()) return never_direct;
  in.unlike = false;
  const candidate staged{.row = find_algorithm(collective::alltoall, "linear")}, direct{.row = find_algorithm(collective::alltoall, "direct")};
  if (!objection(direct, in).empty()) return never_direct;
  const auto expected = [&](const candidate& c) {
    if (in.ranks <= evaluated) return predicted_us(c, in);
    const shape s{.size = in.ranks, .node_of = in.node_of};
    return static_cast<double>(estimate(*c.row, s, for_data_of(in, touched_by(c, s, in, in.bytes, in.piece)), {in.bytes, in.piece}));
  };
  const auto loses = [&](unsigned log2) {
    in.bytes = std::uint64_t{1} << log2;
    const double cost = expected(direct);
    return cost < 0 || cost >= expected(staged);
  };
  constexpr std::array<unsigned, 7> sizes{16, 17, 18, 19, 20, 21, 22};  // 64 KiB to 4 MiB
  const auto first = std::ranges::partition_point(sizes, loses);
  return first == sizes.end() ? never_direct : std::uint64_t{1} << (*first - 1);
}

bool is_same(const candidate& c, collective of, const wanted_algorithm& w) noexcept {
  candidate other;
  other.row = find_algorithm(of, w.name), other.radix = w.radix;
  if (const algorithm* const inner = find_algorithm(of, w.inner)) other.inner = inner->name;
  return other.row && same(c, other);
}

result<std::vector<candidate>> choose(collective of, const choice_inputs& in) {
  if (const status s = check(of, in); s.failed()) return s;
  std::vector<candidate> out;
  if (!in.wanted.name.empty()) {
    result<candidate> wanted = from_wanted(of, in);
    if (!wanted) return wanted.error();
    if (const status s = set_price(*wanted, in); s.failed()) return s;
    out.push_back(*wanted);
  }
  const std::size_t ranked_from = out.size();
  const node_summary where = summarize_nodes(in.ranks, in.node_of);
  const placement lie{in.ranks, where.nodes, where.largest, where.nodes == 1 && in.ranks_per_core > 1};
  for (const algorithm& row : algorithms(of))
    for (const variant& v : row.variants) {
      if (v.considered && !v.considered(lie)) continue;
      candidate c{.row = &row, .radix = v.radix, .inner = v.inner, .why = std::string(v.reason)};
      if (ranked_from && same(c, out[0])) continue;
      if (std::string why = objection(c, in); !why.empty()) c.runnable = false, c.why = std::move(why);
      if (const status s = set_price(c, in); s.failed() && c.runnable) c.runnable = false, c.why = s.text();
      out.push_back(std::move(c));
    }
  const std::span<candidate> ranked = std::span(out).subspan(ranked_from);
  if (in.measured)
    if (const tuning::row* r = in.measured->find({of, in.fabric, in.ranks, where.nodes, in.ranks_per_core, in.bytes}))
      mark_measured(ranked, *r);
  std::stable_sort(ranked.begin(), ranked.end(), better);
  prefer_what_needs_no_repair(ranked);
  return out;
}

result<candidate> choose_first(collective of, const choice_inputs& in) {
  if (in.wanted.name.empty()) {
    auto all = choose(of, in);
    if (!all) return all.error();
    return std::move(all->front());
  }
  if (const status s = check(of, in); s.failed()) return s;
  return from_wanted(of, in);
}

}  // namespace tutti
