// Alltoall by one put from each rank to each other one, the first to the right neighbour, so that no two begin with the same.
//
// Line r and slot r of a rank are rank r's, their one writer for ever. Two sets of them take turns (data_layout::needs_everyone).
// What comes is copied out once all puts are complete: the result may come in place.
// Copies of each block: one from the caller's memory into the other's slot, one out of it.
#include "collectives/price.h"

namespace tutti::alltoalls {
namespace {

std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = each(s);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t to = (s.rank + k) % s.size;
    out.put_signal(to, s.rank, to, {data_in}, {staging, s.rank});
  }
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  out.add(step_kind::complete, any_peer);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + s.size - k) % s.size;
    out.await(from, from, from);
    out.local(step_kind::copy, from, {staging, from}, {data_out});
  }
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return hop(in, in.size - 1) + (in.size - 1) * each;
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "one hop, n(n-1) messages"}};

}  // namespace

extern const algorithm linear;
constinit const algorithm linear{
    .of = collective::alltoall,
    .name = "linear",
    .summary = "each rank puts every other one its block",
    .source = "Thakur et al. 2005",
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = each,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::alltoalls
