// Gather up a binomial tree: a rank puts its subtree's blocks to its parent in one message. Ranks count from the root here.
//
// Position k of a rank's staging memory is for the block of the rank k behind it; its own block is there if it has children. Line j and
// the positions from 2^j on are those of the child 2^j on, whatever the root their one writer in a run; sets of them take turns
// (data_layout::synchronizes): whoever begins the first set of a turn has met all others in a barrier, so they have left every run
// of the turn before, having sent what they had there.
// Copies of each block: one into its rank's staging memory if that has children, one out of the root's.
#include "collectives/binomial_tree.h"
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::gathers {
namespace {

std::uint32_t words(const shape& s) { return 2 * rounds_of(s.size); }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const std::uint32_t n = s.size, lines = rounds_of(n), v = (s.rank + n - s.root) % n;
  const binomial_tree tree(v, n);
  if (s.first_set) add_barrier(out, s.rank, n, lines);
  if (v == 0) out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  else if (tree.children() > 0) out.local(step_kind::copy, s.rank, {data_in}, {staging, 0});
  for (std::uint32_t j = 0; j < tree.children(); ++j) {
    const std::uint32_t distance = std::uint32_t{1} << j, first = (s.rank + distance) % n, count = tree.subtree_of_child(j);
    out.await(first, j, 0, count);
    if (v != 0) continue;
    const std::uint32_t before_0 = std::min(count, n - first);
    out.local(step_kind::copy, first, {staging, 0, distance}, {data_out}, before_0);
    if (before_0 < count) out.local(step_kind::copy, 0, {staging, 0, distance + before_0}, {data_out}, count - before_0);
  }
  if (v != 0) {
    const std::uint32_t up = std::uint32_t{1} << tree.level(), parent = (s.rank + n - up) % n;
    const place there{staging, 0, up};
    if (tree.children() > 0) out.put_signal(parent, tree.level(), 0, {staging, 0}, there, tree.subtree());
    else out.put_signal(parent, tree.level(), s.rank, {data_in}, there);
  }
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return rounds_of(in.size) * hop(in, 1) + (in.size - 1) * each;
}
std::int64_t messages(const form_input& in) { return in.size - 1; }

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {{.considered = few, .reason = "ceil(log2 n) messages at the root: pays where blocks are short"}};

}  // namespace

extern const algorithm binomial;
constinit const algorithm binomial{
    .of = collective::gather,
    .name = "binomial",
    .summary = "up a binomial tree, a subtree's blocks in one message",
    .source = "Thakur et al. 2005",
    .needs = {.alike = true},
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .together = [](const shape& s) { return (s.size + 1) / 2; },
             .synchronizes = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::gathers
