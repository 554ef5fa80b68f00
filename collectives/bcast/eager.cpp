// Broadcast along a tree with fan-in l (fan_in_tree.h) to ranks that need not have called yet: no rank says that it has room, so
// the root goes on at once and few bytes take one message a hop. Ranks count from the root here.
//
// Line 0 and slot 0 of a rank are its parent's to write, which depends on the root. Sets of them take turns
// (data_layout::synchronizes): in a set a rank has one parent, once; whoever writes to that set again has met all others in a
// barrier since, so this rank has left that run. A root may be ahead by as many runs as a turn has sets.
// Copies: one from rank to rank and, but for the root, one out of the slot.
#include "collectives/dissemination.h"
#include "collectives/fan_in_tree.h"

namespace tutti::broadcasts {

extern const algorithm eager;

namespace {

std::uint32_t words(const shape& s) { return 1 + rounds_of(s.size); }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.first_set) add_barrier(out, s.rank, s.size, 1);
  const fan_in_tree links(s.size, radix_of(eager, s.radix));
  const std::uint32_t r = (s.rank + s.size - s.root) % s.size;
  const auto absolute = [&](std::uint32_t relative) { return (relative + s.root) % s.size; };
  const place slot{staging, 0}, here = r == 0 ? place{data_out} : slot;
  if (r != 0) out.await(absolute(links.parent(r).parent), 0, 0);
  std::vector<std::uint32_t> children;
  links.for_each_child(r, [&](std::uint32_t child, std::uint32_t) { children.push_back(absolute(child)); });
  for (auto child = children.rbegin(); child != children.rend(); ++child) out.put_signal(*child, 0, 0, here, slot);  // the deepest subtree first
  if (r != 0) out.local(step_kind::copy, 0, slot, {data_out});
  if (!children.empty()) out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto runs = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const fan_in_tree links(in.size, radix_of(eager, in.radix));
  return runs * (gather(in, radix_of(eager, in.radix)) + links.children(0) * for_bytes(piece, in.link.bytes_per_ns));
}
std::int64_t messages(const form_input& in) { return in.size - 1; }

constexpr variant variants[] = {
    {.radix = 1, .reason = "nobody asks for room: ceil(log2 n) hops"},
    {.radix = 3, .considered = ranks_from<4>, .reason = "nobody asks for room, fewer hops"},
    {.radix = 15, .considered = ranks_from<8>, .reason = "nobody asks for room, one hop up to 16 ranks"},
};

}  // namespace

constinit const algorithm eager{
    .of = collective::broadcast,
    .name = "eager",
    .summary = "puts along a tree with fan-in l, to ranks that need not have called yet",
    .source = "Thakur et al. 2005 (binomial), Kini 2003, 3.3 (its fan-in)",
    .default_radix = 1,
    .least_radix = 1,
    .data = {.blocks = [](const shape&) { return 1u; }, .most_bytes = 16 << 10, .slots = [](const shape&) { return 1u; },
             .in_lines = true, .synchronizes = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::broadcasts
