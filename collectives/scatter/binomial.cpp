// Scatter down a binomial tree: a rank gets its subtree's blocks from its parent in one message, and passes on those of its
// children's. Ranks count from the root here.
//
// Position k of a rank's staging memory is for the block of the rank k behind it. Line 0 and all positions are the parent's to
// write; sets of them take turns (data_layout::synchronizes): in a set a parent writes once, and that of the next root has met all
// others in a barrier since.
// Copies of each block: one into the root's staging memory, unless it goes right to its rank, and one out of its rank's.
#include "collectives/binomial_tree.h"
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::scatters {
namespace {

std::uint32_t words(const shape& s) { return 1 + rounds_of(s.size); }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const std::uint32_t n = s.size, v = (s.rank + n - s.root) % n;
  const binomial_tree tree(v, n);
  if (s.first_set) add_barrier(out, s.rank, n, 1);
  if (v != 0) out.await((s.rank + n - (std::uint32_t{1} << tree.level())) % n, 0, 0, tree.subtree());
  for (std::uint32_t j = tree.children(); j-- > 0;) {  // the largest subtree first: it has the longest way to go
    const std::uint32_t distance = std::uint32_t{1} << j, child = (s.rank + distance) % n, count = tree.subtree_of_child(j);
    const place here{staging, 0, distance}, there{staging, 0};
    if (v == 0 && count == 1) {
      out.put_signal(child, 0, child, {data_in}, there);
      continue;
    }
    const std::uint32_t before_0 = std::min(count, n - child);
    if (v == 0) out.local(step_kind::copy, child, {data_in}, here, before_0);
    if (v == 0 && before_0 < count) out.local(step_kind::copy, 0, {data_in}, {staging, 0, distance + before_0}, count - before_0);
    out.put_signal(child, 0, 0, here, there, count);
  }
  out.local(step_kind::copy, s.rank, v == 0 ? place{data_in} : place{staging, 0}, {data_out});
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds wire = for_bytes(in.bytes, in.link.bytes_per_ns), copy = for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return rounds_of(in.size) * hop(in, 1) + (in.size - 1) * (wire + copy);
}
std::int64_t messages(const form_input& in) { return in.size - 1; }

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {{.considered = few, .reason = "ceil(log2 n) messages at the root: pays where blocks are short"}};

}  // namespace

extern const algorithm binomial;
constinit const algorithm binomial{
    .of = collective::scatter,
    .name = "binomial",
    .summary = "down a binomial tree, a subtree's blocks in one message",
    .source = "Thakur et al. 2005",
    .needs = {.alike = true},
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .together = [](const shape& s) { return (s.size + 1) / 2; },
             .synchronizes = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::scatters
