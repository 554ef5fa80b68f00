// Reduce up the gather tree with fan-in l (fan_in_tree.h) to a root that need not have called yet: no rank says that it has room, so
// few bytes take one message a hop. Ranks count from the root here.
//
// Operands. A parent's children are the ranks right behind what it has, nearest first.
//   eager           ranks from the root on come in their order and then those before it: the operation has to be commutative
//   eager_in_order  the tree's root is rank 0, which puts the result to the call's root: every operation will do
//
// Line i and slot i of a rank are its i-th child's to write, which depends on the root. Sets of them take turns
// (data_layout::synchronizes): in a set a line is written once; whoever writes to that set again has met all others in a
// barrier since, so this rank has left that run. A leaf may be ahead by as many runs as a turn has sets.
// The result from rank 0 has a line and a slot behind these. Copies: one at the root.
#include "collectives/dissemination.h"
#include "collectives/fan_in_tree.h"

namespace tutti::reductions {

extern const algorithm eager, eager_in_order;

namespace {

std::uint32_t children(const shape& s) { return fan_in_tree(s.size, radix_of(eager, s.radix)).children(0); }
std::uint32_t slots(const shape& s) { return children(s) + 1; }
std::uint32_t words(const shape& s) { return slots(s) + rounds_of(s.size); }

schedule along(const shape& s, std::uint32_t top) {
  schedule out;
  out.words = words(s);
  if (s.first_set) add_barrier(out, s.rank, s.size, slots(s));
  const fan_in_tree links(s.size, radix_of(eager, s.radix));
  const std::uint32_t r = (s.rank + s.size - top) % s.size;
  const auto absolute = [&](std::uint32_t relative) { return (relative + top) % s.size; };
  place sum{data_in};
  links.for_each_child(r, [&](std::uint32_t child, std::uint32_t line) {
    const place theirs{staging, line};
    out.await(absolute(child), line, 0);
    out.local(step_kind::reduce_left, 0, sum, theirs);
    sum = theirs;
  });
  const place result{staging, children(s)};
  if (r != 0) {
    const auto [parent, line] = links.parent(r);
    out.put_signal(absolute(parent), line, 0, sum, {staging, line});
  } else if (s.rank != s.root) {
    out.put_signal(s.root, result.slot, 0, sum, result);
  }
  if (r != 0 || s.rank != s.root) out.add(step_kind::complete, any_peer);
  if (s.rank != s.root) return out;
  if (r != 0) out.await(top, result.slot, 0), sum = result;
  out.local(step_kind::copy, 0, sum, {data_out});
  return out;
}
schedule make_anywhere(const shape& s) { return along(s, s.root); }
schedule make_in_order(const shape& s) { return along(s, 0); }

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto runs = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const std::uint32_t fan_in = radix_of(eager, in.radix);
  const picoseconds each = for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns);
  return runs * (gather(in, fan_in) + fan_in_tree(in.size, fan_in).children(0) * each);
}
picoseconds chain_in_order(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  return chain(in) + (piece ? (in.bytes + piece - 1) / piece : 0) * (hop(in, 1) + for_bytes(piece, in.link.bytes_per_ns));
}
std::int64_t messages(const form_input& in) { return in.size - 1; }
std::int64_t messages_in_order(const form_input& in) { return in.size; }

constexpr data_layout layout{.blocks = [](const shape&) { return 1u; }, .most_bytes = 16 << 10, .slots = slots, .in_lines = true, .synchronizes = true};
constexpr variant variants[] = {
    {.radix = 1, .reason = "nobody asks for room: ceil(log2 n) hops"},
    {.radix = 3, .considered = ranks_from<4>, .reason = "nobody asks for room, fewer hops"},
    {.radix = 15, .considered = ranks_from<8>, .reason = "nobody asks for room, one hop up to 16 ranks"},
};

}  // namespace

constinit const algorithm eager{
    .of = collective::reduce,
    .name = "eager",
    .summary = "puts up a tree with fan-in l, to ranks that need not have called yet",
    .source = "Thakur et al. 2005 (binomial), Kini 2003, 3.3 (its fan-in)",
    .needs = {.commutative = true},
    .default_radix = 1,
    .least_radix = 1,
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_anywhere,
    .form = {chain, messages},
};

constinit const algorithm eager_in_order{
    .of = collective::reduce,
    .name = "eager_in_order",
    .summary = "as eager, with operands in the order of the ranks: to rank 0, and from there to the root",
    .source = "Thakur et al. 2005 (binomial), Kini 2003, 3.3 (its fan-in)",
    .default_radix = 1,
    .least_radix = 1,
    .data = layout,
    .resources = &eager,
    .variants = variants,
    .words = words,
    .make = make_in_order,
    .form = {chain_in_order, messages_in_order},
};

}  // namespace tutti::reductions
