// Allgather after Bruck: rank r has the blocks of r, r + 1, ..., and in round m takes the 2^m that come next from r + 2^m, or as
// many as are left: ceil(log2 n) rounds for any n.
//
// Position k of the staging memory is for the block of rank r + k, modulo n. Line m and the positions of round m are those of the
// rank r + 2^m, their one writer for ever; two sets take turns (data_layout::needs_everyone). What is sent from a position stays
// there to the end of the run.
// Copies of each block: one into position 0 of its rank, one out of each rank's, in two parts, since the result begins with rank 0's.
// In place: the result is written after that, and puts read positions alone.
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::allgathers {
namespace {

std::uint32_t words(const shape& s) { return rounds_of(s.size); }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const auto at = [](std::uint32_t position) { return place{staging, 0, position}; };
  out.local(step_kind::copy, s.rank, {data_in}, at(0));
  for (std::uint32_t m = 0; m < out.words; ++m) {
    // Signals go down, where dissemination's go up.
    const auto with = dissemination_partners(s.rank, s.size, m);
    const std::uint32_t count = std::min(with.distance, s.size - with.distance);
    out.put_signal(with.from, m, 0, at(0), at(with.distance), count);
    out.await(with.to, m, 0, count);
  }
  out.local(step_kind::copy, s.rank, at(0), {data_out}, s.size - s.rank);
  if (s.rank > 0) out.local(step_kind::copy, 0, at(s.size - s.rank), {data_out}, s.rank);
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return rounds_of(in.size) * hop(in, 1) + in.size * each;
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * rounds_of(in.size); }

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {{.considered = few, .reason = "ceil(log2 n) rounds for any n: pays where blocks are short"}};

}  // namespace

extern const algorithm bruck;
constinit const algorithm bruck{
    .of = collective::allgather,
    .name = "bruck",
    .summary = "each rank takes the next 1, 2, 4, ... blocks from the rank 1, 2, 4, ... on",
    .source = "Bruck et al. 1997",
    .needs = {.alike = true},
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .together = [](const shape& s) { return (s.size + 1) / 2; },
             .needs_everyone = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers
