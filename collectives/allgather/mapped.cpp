// Allgather inside a node that maps its ranks' memory: each rank copies its block into its own slot, and all others read it there.
//
// Line r of a rank is rank r's to write; slot 0 is the rank's own. Two sets of them take turns (data_layout::needs_everyone): a rank
// that writes a set again has finished the run between, which all have begun, so nobody reads the run before.
// Copies of each block: one by the rank that gives it, one by each other one.
#include "collectives/price.h"

namespace tutti::allgathers {
namespace {

std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = each(s);
  const place slot{staging, 0};
  out.local(step_kind::copy, s.rank, {data_in}, slot);
  for (std::uint32_t k = 1; k < s.size; ++k) out.add(step_kind::signal, (s.rank + k) % s.size, s.rank).about(s.rank, data_out);
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t from = (s.rank + k) % s.size;
    out.await(from, from, from);
    out.move(step_kind::copy, from, from, slot, {data_out});
  }
  return out;
}

picoseconds chain(const form_input& in) { return hop(in, in.size - 1) + (in.size + 1) * for_bytes(in.bytes, in.all.copied_bytes_per_ns); }
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "a copy less for each block and rank"}};

}  // namespace

extern const algorithm mapped;
constinit const algorithm mapped{
    .of = collective::allgather,
    .name = "mapped",
    .summary = "all read each other's staging memory, which their node maps",
    .source = "Graham and Shipman 2008 (shared memory)",
    .needs = {.mapped = true},
    .data = {.blocks = each, .most_bytes = 128 << 10, .slots = [](const shape&) { return 1u; }, .needs_everyone = true},
    .variants = variants,
    .words = each,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers
