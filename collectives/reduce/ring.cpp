// Allreduce around a ring: the data falls into n blocks, and each goes around twice. Once it is added up on the way: in step s
// rank r sends block r - s and adds its own data to block r - s - 1, so that after n - 1 steps it has all of block r + 1. Then
// the sums go around. Each rank sends 2(n-1)/n of the data in all, which no allreduce can do with less.
//
// Operands of block b come in the order b, b + 1, ..., around the ring: the operation has to be commutative. Each block is added up
// in one place, so all ranks get the same bits.
//
// Lines and slots: s for step s of the first way around, n - 1 + s for step s of the second; their one writer is rank r - 1. Two
// sets of slots take turns, by the parity of the run (data_layout::needs_everyone).
#include "collectives/price.h"

namespace tutti::reductions {
namespace {

std::uint32_t lines(const shape& s) { return 2 * (s.size - 1); }

schedule make(const shape& s) {
  schedule out;
  out.words = lines(s);
  if (s.size < 2) return out;
  const std::uint32_t n = s.size, right = (s.rank + 1) % n, left = (s.rank + n - 1) % n;
  place sum{data_in};
  for (std::uint32_t step = 0; step < n - 1; ++step) {
    const std::uint32_t leaves = (s.rank + n - step) % n, comes = (s.rank + 2 * n - step - 1) % n;
    const place here{staging, step};
    out.put_signal(right, step, leaves, sum, here);
    out.await(left, step, comes);
    out.local(step_kind::reduce_left, comes, {data_in}, here);
    sum = here;
  }
  out.add(step_kind::complete, any_peer);  // the caller's data may be where the result goes
  out.local(step_kind::copy, right, sum, {data_out});
  for (std::uint32_t step = 0; step < n - 1; ++step) {
    const std::uint32_t leaves = (s.rank + 1 + n - step) % n, comes = (s.rank + n - step) % n;
    const place here{staging, n - 1 + step};
    out.put_signal(right, n - 1 + step, leaves, sum, here);
    out.await(left, n - 1 + step, comes);
    out.local(step_kind::copy, comes, here, {data_out});
    sum = here;
  }
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t run = std::min<std::uint64_t>(in.bytes, in.piece * in.size), block = (run + in.size - 1) / in.size;
  const auto runs = static_cast<picoseconds>(run ? (in.bytes + run - 1) / run : 0);
  const picoseconds step = hop(in, 1) + for_bytes(block, in.link.bytes_per_ns) + for_bytes(block, in.all.copied_bytes_per_ns);
  return runs * 2 * (in.size - 1) * step;
}

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 64; }
constexpr variant variants[] = {{.considered = few, .reason = "each rank sends the data twice, whatever their number: pays where it is long"}};

}  // namespace

extern const algorithm ring;
constinit const algorithm ring{
    .of = collective::allreduce,
    .name = "ring",
    .summary = "blocks go around a ring, once to be added up and once as sums",
    .source = "Patarasuk and Yuan 2009",
    .needs = {.commutative = true},
    .data = {.blocks = [](const shape& s) { return s.size; }, .even = true, .most_bytes = 32 << 10, .slots = lines, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = lines,
    .make = make,
    .form = {chain},
};

}  // namespace tutti::reductions
