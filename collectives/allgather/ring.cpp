// Allgather around a ring: in step s rank r passes block r - s on to the right. Each block goes n - 1 hops, and every rank sends to
// one and takes from one alone.
//
// Line b and slot b are for block b, which comes from the left neighbour for ever. Two sets of them take turns
// (data_layout::needs_everyone). A block stays in its slot to the end of the run: it is passed on from there.
// Copies of each block: one out of each rank's slot. In place: the result's other blocks are not read by any put.
#include "collectives/price.h"

namespace tutti::allgathers {
namespace {

std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = each(s);
  const std::uint32_t n = s.size, right = (s.rank + 1) % n, left = (s.rank + n - 1) % n;
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t block = (s.rank + n - step) % n;
    const place here{staging, block}, from = step == 0 ? place{data_in} : here;
    if (step > 0) out.await(left, block, block);
    if (step + 1 < n) out.put_signal(right, block, block, from, here);
    out.local(step_kind::copy, block, from, {data_out});
  }
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return (in.size - 1) * (hop(in, 1) + each);
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 64; }
constexpr variant variants[] = {{.considered = few, .reason = "neighbours alone talk: pays where blocks are long and paths are shared"}};

}  // namespace

extern const algorithm ring;
constinit const algorithm ring{
    .of = collective::allgather,
    .name = "ring",
    .summary = "blocks go around a ring",
    .source = "Thakur et al. 2005",
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = each,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers
