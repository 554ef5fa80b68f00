// Allreduce and reduce inside a node that maps its ranks' memory. Each rank copies its data into its own slots; once all have, rank b
// adds up block b of all, out of their slots into one of its own; once all have, each rank (or the root) reads the sums there.
//
// Operands. A block is added up from rank 0's on, in order: every operation will do, and all ranks get the same bits.
//
// Slots of a rank: b for its own data of block b, n for the sums of the block that is its share. Lines: r, rank r's data lie in its
// slots; n + r, and so do its sums. Two sets of them take turns (data_layout::needs_everyone): a rank that writes a set again has
// finished the run between, which all have begun, so nobody reads the run before. Whoever takes no result of a reduce still waits
// for all sums, so that this holds.
// Copies: one in, one out; the additions read where the data lie.
#include "collectives/price.h"

namespace tutti::reductions {
namespace {

std::uint32_t lines(const shape& s) { return 2 * s.size; }
std::uint32_t slots(const shape& s) { return s.size + 1; }

schedule make(const shape& s, bool all) {
  schedule out;
  out.words = lines(s);
  const std::uint32_t n = s.size;
  const place sums{staging, n};
  for (std::uint32_t b = 0; b < n; ++b) out.local(step_kind::copy, b, {data_in}, {staging, b});
  for (std::uint32_t k = 1; k < n; ++k) out.signal((s.rank + k) % n, s.rank);
  for (std::uint32_t k = 1; k < n; ++k) out.wait((s.rank + k) % n, (s.rank + k) % n);
  for (std::uint32_t from = 0; from < n; ++from)
    out.move(from == 0 ? step_kind::copy : step_kind::reduce_right, from == s.rank ? any_peer : from, s.rank, {staging, s.rank}, sums);
  for (std::uint32_t k = 1; k < n; ++k) out.signal((s.rank + k) % n, n + s.rank);
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t from = (s.rank + k) % n;
    if (k > 0) out.wait(from, n + from);
    if (all || s.rank == s.root) out.move(step_kind::copy, k == 0 ? any_peer : from, from, sums, {data_out});
  }
  return out;
}
schedule make_all(const shape& s) { return make(s, true); }
schedule make_one(const shape& s) { return make(s, false); }

picoseconds chain(const form_input& in) {
  return 2 * hop(in, in.size - 1) + for_bytes(2 * in.bytes, in.all.copied_bytes_per_ns) + for_bytes(in.bytes, in.all.reduced_bytes_per_ns);
}
std::int64_t messages(const form_input& in) { return 2 * std::int64_t{in.size} * (in.size - 1); }

// Two ranks exchange as many bytes in one hop.
constexpr variant variants[] = {{.considered = ranks_from<3>, .reason = "two hops, and each rank adds up its share where the data lie"}};
constexpr data_layout layout{.blocks = [](const shape& s) { return s.size; }, .even = true, .most_bytes = 64 << 10, .slots = slots,
                             .needs_everyone = true};

}  // namespace

extern const algorithm mapped, mapped_to_root;

constinit const algorithm mapped{
    .of = collective::allreduce,
    .name = "mapped",
    .summary = "each rank adds up a share in the staging memory of all, which their node maps",
    .source = "Graham and Shipman 2008 (shared memory)",
    .needs = {.mapped = true},
    .data = layout,
    .variants = variants,
    .words = lines,
    .make = make_all,
    .form = {chain, messages},
};

constinit const algorithm mapped_to_root{
    .of = collective::reduce,
    .name = "mapped",
    .summary = "as the allreduce; the root alone reads the sums",
    .source = "Graham and Shipman 2008 (shared memory)",
    .needs = {.mapped = true},
    .data = layout,
    .variants = variants,
    .words = lines,
    .make = make_one,
    .form = {chain, messages},
};

}  // namespace tutti::reductions
