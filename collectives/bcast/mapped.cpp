// Broadcast inside a node that maps its ranks' memory: the root copies each piece into its own slot, and all others read it there.
//
// Words: line p of a rank says that piece p lies in the root's slot; line pieces + r of a root, that rank r has begun the run, so it
// reads none of the run before. The root writes no slot before all have. A line's writer is the root of the run, or rank r: whoever
// was root before has been waited for in that run, word by word, before this rank said that it has begun the next.
// Copies: one by the root, one by each other rank.
#include "collectives/price.h"

namespace tutti::broadcasts {
namespace {

constexpr std::uint32_t pieces = 16;  // of a run

std::uint32_t words(const shape& s) { return pieces + s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.rank != s.root) out.signal(s.root, pieces + s.rank);
  for (std::uint32_t p = 0; p < pieces; ++p) {
    const place slot{staging, p};
    if (s.rank == s.root) {
      for (std::uint32_t r = 0; p == 0 && r < s.size; ++r)
        if (r != s.rank) out.wait(r, pieces + r);
      out.local(step_kind::copy, p, {data_out}, slot);
      for (std::uint32_t k = 1; k < s.size; ++k) out.add(step_kind::signal, (s.rank + k) % s.size, p).about(p, data_out);
    } else {
      out.await(s.root, p, p);
      out.move(step_kind::copy, s.root, p, slot, {data_out});
    }
  }
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  return hop(in, in.size - 1) + for_bytes(in.bytes + piece, in.all.copied_bytes_per_ns);
}
std::int64_t messages(const form_input& in) { return 2 * (std::int64_t{in.size} - 1); }

constexpr variant variants[] = {{.reason = "one copy a rank, out of the root's memory"}};

}  // namespace

extern const algorithm mapped;
constinit const algorithm mapped{
    .of = collective::broadcast,
    .name = "mapped",
    .summary = "all read the root's staging memory, which their node maps",
    .source = "Graham and Shipman 2008 (shared memory)",
    .needs = {.mapped = true},
    .data = {.blocks = [](const shape&) { return pieces; }, .most_bytes = 32 << 10, .slots = [](const shape&) { return pieces; }},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::broadcasts
