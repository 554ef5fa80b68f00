// Reduce_scatter around a ring: in step s rank r passes on block r - s - 1, with its own data added, to the right. Every rank sends to
// one and takes from one alone.
//
// Operands of block b come in the order b + 1, b + 2, ..., around the ring: the operation has to be commutative.
//
// Line s and slot s are those of step s; their one writer is the left neighbour. Two sets of them take turns
// (data_layout::needs_everyone).
// Copies: of the result, one out of its slot. In place: it is written once all puts are complete.
#include "collectives/price.h"

namespace tutti::reduce_scatters {
namespace {

std::uint32_t steps(const shape& s) { return s.size - 1; }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = steps(s);
  const std::uint32_t n = s.size, right = (s.rank + 1) % n, left = (s.rank + n - 1) % n;
  place sum{data_in};
  for (std::uint32_t step = 0; step < out.words; ++step) {
    const std::uint32_t leaves = (s.rank + 2 * n - step - 1) % n, comes = (s.rank + 2 * n - step - 2) % n;
    const place here{staging, step};
    out.put_signal(right, step, leaves, sum, here);
    out.await(left, step, comes);
    out.local(step_kind::reduce_left, comes, {data_in}, here);
    sum = here;
  }
  out.add(step_kind::complete, any_peer);
  out.local(step_kind::copy, s.rank, sum, {data_out});
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.reduced_bytes_per_ns);
  return (in.size - 1) * (hop(in, 1) + each);
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 64; }
constexpr variant variants[] = {{.considered = few, .reason = "neighbours alone talk: pays where blocks are long and paths are shared"}};

}  // namespace

extern const algorithm ring;
constinit const algorithm ring{
    .of = collective::reduce_scatter,
    .name = "ring",
    .summary = "blocks go around a ring and are added up on the way",
    .source = "Patarasuk and Yuan 2009",
    .needs = {.commutative = true},
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = steps, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = steps,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::reduce_scatters
