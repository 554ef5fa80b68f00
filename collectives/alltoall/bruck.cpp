// Alltoall after Bruck: what goes k ranks on travels by the bits of k, in round m the blocks with bit m, all in one message to the
// rank 2^m on: ceil(log2 n) messages a rank for n - 1, at log2(n)/2 times the bytes. For short blocks.
//
// Each round has slots of its own, where the blocks are packed and where they come to. Line m and what comes in round m are those
// of the rank r - 2^m, their one writer for ever; two sets take turns (data_layout::needs_everyone: a result has come, on whatever
// way, from every rank).
// Copies of each block: one for each bit of k at the ranks on its way, to be packed, and one out of the last slot. In place: the
// result is written at the end, when all that was given, but for what the rank keeps, has been packed.
#include <vector>

#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::alltoalls {
namespace {

std::uint32_t words(const shape& s) { return rounds_of(s.size); }
std::uint32_t each(const shape& s) { return s.size; }
std::uint32_t most(const shape& s) { return (s.size + 1) / 2; }  // blocks of a round
std::uint32_t slots(const shape& s) { return 2 * most(s) * rounds_of(s.size); }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const std::uint32_t n = s.size;
  std::vector<place> at(n, place{data_in});  // k: of the block that has come so far on its way of k ranks
  for (std::uint32_t m = 0; m < out.words; ++m) {
    const auto with = dissemination_partners(s.rank, n, m);
    const std::uint32_t packed = 2 * most(s) * m, come = packed + most(s);
    std::uint32_t count = 0;
    for (std::uint32_t k = 1; k < n; ++k)
      if (k & with.distance) {
        out.local(step_kind::copy, (s.rank + k) % n, at[k], {staging, packed, count});
        at[k] = {staging, come, count++};
      }
    out.put_signal(with.to, m, 0, {staging, packed}, {staging, come}, count);
    out.await(with.from, m, 0, count);
  }
  for (std::uint32_t k = 0; k < n; ++k) out.local(step_kind::copy, (s.rank + n - k) % n, at[k], {data_out});
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return rounds_of(in.size) * (hop(in, 1) + (in.size + 1) / 2 * each);
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * rounds_of(in.size); }

bool few(const placement& p) { return p.ranks > 3 && p.ranks <= 1024; }
constexpr variant variants[] = {{.considered = few, .reason = "ceil(log2 n) messages a rank: pays where blocks are short"}};

}  // namespace

extern const algorithm bruck;
constinit const algorithm bruck{
    .of = collective::alltoall,
    .name = "bruck",
    .summary = "blocks travel by the bits of their distance, those of a bit together",
    .source = "Bruck et al. 1997",
    .needs = {.alike = true},
    .data = {.blocks = each, .most_bytes = 4 << 10, .slots = slots, .together = most, .needs_everyone = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::alltoalls
