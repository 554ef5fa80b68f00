// Scatter by one put from the root to each rank.
//
// Line 0 and slot 0 are the root's to write. Sets of them take turns (data_layout::synchronizes): in a set, a root writes but once,
// and the next root of that set has met all others in a barrier since.
// Copies: one from the caller's memory into the rank's slot, one out of it.
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::scatters {
namespace {

std::uint32_t words(const shape& s) { return 1 + rounds_of(s.size); }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.first_set) add_barrier(out, s.rank, s.size, 1);
  const place here{staging, 0};
  if (s.rank != s.root) {
    out.await(s.root, 0, s.rank);
    out.local(step_kind::copy, s.rank, here, {data_out});
    return out;
  }
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t to = (s.rank + k) % s.size;
    out.put_signal(to, 0, to, {data_in}, here);
  }
  out.add(step_kind::complete, any_peer);
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds wire = for_bytes(in.bytes, in.link.bytes_per_ns);
  return hop(in, 1) + (in.size - 1) * (in.link.interval() + wire) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
}
std::int64_t messages(const form_input& in) { return in.size - 1; }

constexpr variant variants[] = {{.reason = "one hop, and n-1 messages at the root"}};

}  // namespace

extern const algorithm linear;
constinit const algorithm linear{
    .of = collective::scatter,
    .name = "linear",
    .summary = "the root puts each rank its block",
    .source = "Thakur et al. 2005",
    .data = {.blocks = [](const shape& s) { return s.size; }, .most_bytes = 64 << 10, .slots = [](const shape&) { return 1u; },
             .in_lines = true, .synchronizes = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::scatters
