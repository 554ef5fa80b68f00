// Gather by one put from each rank to the root.
//
// Lines and slots: r of the root is rank r's, its one writer for ever. Sets of them take turns (data_layout::synchronizes): whoever
// begins the first set of a turn has met all others in a barrier, so they have left every run of the turn before.
// Copies: one from the caller's memory into the root's slot, one out of it.
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::gathers {
namespace {

std::uint32_t words(const shape& s) { return s.size + rounds_of(s.size); }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.first_set) add_barrier(out, s.rank, s.size, s.size);
  if (s.rank != s.root) {
    out.put_signal(s.root, s.rank, s.rank, {data_in}, {staging, s.rank});
    out.add(step_kind::complete, any_peer);
    return out;
  }
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + k) % s.size;
    out.await(from, from, from);
    out.local(step_kind::copy, from, {staging, from}, {data_out});
  }
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return hop(in, 1) + (in.size - 1) * (in.link.interval() + each);
}
std::int64_t messages(const form_input& in) { return in.size - 1; }

constexpr variant variants[] = {{.reason = "one hop, and n-1 messages at the root"}};

}  // namespace

extern const algorithm linear;
constinit const algorithm linear{
    .of = collective::gather,
    .name = "linear",
    .summary = "each rank puts its block to the root",
    .source = "Thakur et al. 2005",
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .in_lines = true, .synchronizes = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::gathers
