// Reduce up a tree with fan-in l (fan_in_tree.h) to rank 0, and the result down the same tree: an allreduce of 2(n-1) messages. For
// few bytes, where messages are dear: ranks that share cores.
//
// Operands. A parent's children are the ranks right behind what it has, nearest first, and each brings a range of ranks: their
// order is kept, so every operation will do. What a child brings becomes the right operand in the slot where it came.
//
// Lines and slots are those of barrier/tree.cpp: one for each child of rank 0, the last of which is the parent's in every
// other rank; each has one writer for ever. Two sets of slots take turns, by the parity of the run (data_layout::needs_everyone).
#include "collectives/fan_in_tree.h"

namespace tutti::reductions {

extern const algorithm tree;

namespace {

std::uint32_t lines(const shape& s) { return fan_in_tree(s.size, radix_of(tree, s.radix)).children(0); }

schedule make(const shape& s) {
  schedule out;
  const fan_in_tree links(s.size, radix_of(tree, s.radix));
  out.words = links.children(0);
  if (s.size < 2) return out;
  const place released{staging, out.words - 1};
  place sum{data_in};
  std::vector<std::uint32_t> children;
  links.for_each_child(s.rank, [&](std::uint32_t child, std::uint32_t line) {
    const place theirs{staging, line};
    out.await(child, line, 0);
    out.local(step_kind::reduce_left, 0, sum, theirs);
    sum = theirs;
    children.push_back(child);
  });
  if (s.rank != 0) {
    const auto [parent, line] = links.parent(s.rank);
    out.put_signal(parent, line, 0, sum, {staging, line});
    out.await(parent, released.slot, 0);
    sum = released;
  }
  while (!children.empty()) {  // the deepest subtree first: it has the longest way to go
    out.put_signal(children.back(), released.slot, 0, sum, released);
    children.pop_back();
  }
  out.add(step_kind::complete, any_peer);  // the caller's data may be where the result goes
  out.local(step_kind::copy, 0, sum, {data_out});
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto runs = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const fan_in_tree links(in.size, radix_of(tree, in.radix));
  const picoseconds data = for_bytes(piece, in.link.bytes_per_ns);
  return runs * (2 * gather(in, radix_of(tree, in.radix)) +
                 links.children(0) * (2 * data + for_bytes(piece, in.all.reduced_bytes_per_ns)));
}
std::int64_t messages(const form_input& in) { return 2 * (std::int64_t{in.size} - 1); }

constexpr variant variants[] = {
    {.radix = 1, .reason = "2(n-1) messages in all, along binomial trees"},
    {.radix = 3, .considered = ranks_from<4>, .reason = "2(n-1) messages in all, in fewer hops"},
    {.radix = 7, .considered = ranks_from<8>, .reason = "2(n-1) messages in all, in fewer hops still"},
    {.radix = 15, .considered = ranks_from<16>, .reason = "2(n-1) messages in all, two hops up to 16 ranks"},
};

}  // namespace

constinit const algorithm tree{
    .of = collective::allreduce,
    .name = "tree",
    .summary = "reduce up a tree with fan-in l, the result down the same tree",
    .source = "gather of RGM, Kini 2003, 3.3, with data",
    .default_radix = 3,
    .least_radix = 1,
    .data = {.blocks = [](const shape&) { return 1u; }, .most_bytes = 64 << 10, .slots = lines, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = lines,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::reductions
