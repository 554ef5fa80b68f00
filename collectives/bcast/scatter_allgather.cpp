// Broadcast of long data: they fall into n blocks, which are scattered down a binomial tree and then go around a ring, so that no rank
// sends more than about twice the data. Ranks count from the root here, and block b is that of rank b.
//
// Blocks lie in staging memory as in the data. A rank gets those of its subtree from its parent, by line n; the others by the ring
// from rank r - 1, block b by line b. The root takes none, and what a rank had from its parent does not come again.
// Sets of lines and slots take turns (data_layout::synchronizes): in a set each is written once, and whoever writes to that set again
// has met all others in a barrier since, so this rank has left that run, its puts complete.
// Copies of each block: out of each rank's slots, but the root's. The root puts from the caller's memory.
#include "collectives/binomial_tree.h"
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::broadcasts {
namespace {

std::uint32_t words(const shape& s) { return s.size + 1 + rounds_of(s.size); }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const std::uint32_t n = s.size, r = (s.rank + n - s.root) % n;
  const auto absolute = [&](std::uint32_t relative) { return (relative + s.root) % n; };
  const auto slot = [](std::uint32_t block) { return place{staging, 0, block}; };
  const auto here = [&](std::uint32_t block) { return r == 0 ? place{data_out} : slot(block); };
  const auto had = [n](std::uint32_t rank, std::uint32_t block) { return block - rank < binomial_tree(rank, n).subtree(); };
  if (s.first_set) add_barrier(out, s.rank, n, n + 1);
  const binomial_tree tree(r, n);
  if (r != 0) out.await(absolute(r - (std::uint32_t{1} << tree.level())), n, r, tree.subtree());
  for (std::uint32_t j = tree.children(); j-- > 0;) {  // the largest subtree first: it has the longest way to go
    const std::uint32_t child = r + (std::uint32_t{1} << j);
    out.put_signal(absolute(child), n, child, here(child), slot(child), tree.subtree_of_child(j));
  }
  if (r != 0) out.local(step_kind::copy, r, slot(r), {data_out}, tree.subtree());
  const std::uint32_t right = (r + 1) % n;
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t block = (r + n - step) % n;
    if (step > 0 && r != 0 && !had(r, block)) {
      out.await(absolute(r - 1), block, block);
      out.local(step_kind::copy, block, slot(block), {data_out});
    }
    if (right != 0 && !had(right, block)) out.put_signal(absolute(right), block, block, here(block), slot(block));
  }
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t run = std::min<std::uint64_t>(in.bytes, in.piece * in.size), block = (run + in.size - 1) / in.size;
  const auto runs = static_cast<picoseconds>(run ? (in.bytes + run - 1) / run : 0);
  const picoseconds step = hop(in, 1) + for_bytes(block, in.link.bytes_per_ns) + for_bytes(block, in.all.copied_bytes_per_ns);
  return runs * (rounds_of(in.size) * hop(in, 1) + for_bytes(run, in.link.bytes_per_ns) + (in.size - 1) * step);
}

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 64; }
constexpr variant variants[] = {
    {.considered = few, .reason = "each rank sends about twice the data, whatever their number: pays where they are long"}};

}  // namespace

extern const algorithm scatter_allgather;
constinit const algorithm scatter_allgather{
    .of = collective::broadcast,
    .name = "scatter_allgather",
    .alias = "van_de_geijn",
    .summary = "blocks are scattered down a binomial tree, and then go around a ring",
    .source = "Barnett et al. 1994 (van de Geijn); Thakur et al. 2005",
    .data = {.blocks = each, .even = true, .most_bytes = 32 << 10, .slots = each,
             .together = [](const shape& s) { return (s.size + 1) / 2; }, .synchronizes = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain},
};

}  // namespace tutti::broadcasts
