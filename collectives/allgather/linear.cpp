// Allgather by one put from each rank to each other one.
//
// Line r and slot r of a rank are rank r's, their one writer for ever. Two sets of them take turns (data_layout::needs_everyone).
// Copies of each block: one from the caller's memory into each rank's slot, one out of it.
#include "collectives/price.h"

namespace tutti::allgathers {
namespace {

std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = each(s);
  for (std::uint32_t k = 1; k < s.size; ++k)
    out.put_signal((s.rank + k) % s.size, s.rank, s.rank, {data_in}, {staging, s.rank});
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + s.size - k) % s.size;
    out.await(from, from, from);
    out.local(step_kind::copy, from, {staging, from}, {data_out});
  }
  out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return hop(in, in.size - 1) + (in.size - 1) * each;
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "one hop, n(n-1) messages: pays where turns of shared cores are dearer"}};

}  // namespace

extern const algorithm linear;
constinit const algorithm linear{
    .of = collective::allgather,
    .name = "linear",
    .summary = "each rank puts its block to every other one",
    .source = "Chan et al. 2007",
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = each,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers
