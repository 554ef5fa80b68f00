// Alltoall in steps: in step k a rank puts to the rank k on and takes from the rank k before, and it does not begin step k before it
// has taken what comes in step k - w: no rank is sent to by more than some w others at a time. The radix is the window w.
//
// Line r and slot r of a rank are rank r's, their one writer for ever. Two sets of them take turns (data_layout::needs_everyone).
// What comes is copied out once all puts are complete: the result may come in place.
// Copies of each block: one from the caller's memory into the other's slot, one out of it.
#include "collectives/price.h"

namespace tutti::alltoalls {

extern const algorithm linear, pairwise;

namespace {

std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = each(s);
  const std::uint32_t n = s.size, window = radix_of(pairwise, s.radix);
  for (std::uint32_t k = 1; k < n + window; ++k) {
    if (k > window) {
      const std::uint32_t from = (s.rank + n - (k - window)) % n;
      out.await(from, from, from);
    }
    const std::uint32_t to = (s.rank + k) % n;
    if (k < n) out.put_signal(to, s.rank, to, {data_in}, {staging, s.rank});
  }
  out.add(step_kind::complete, any_peer);
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t from = (s.rank + n - k) % n;
    out.local(step_kind::copy, from, k == 0 ? place{data_in} : place{staging, from}, {data_out});
  }
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint32_t window = radix_of(pairwise, in.radix);
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  return (in.size - 1 + window - 1) / window * hop(in, 1) + (in.size - 1) * (in.link.interval() + each);
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {
    {.radix = 1, .considered = ranks_from<3>, .reason = "one block comes to each rank at a time: pays where many would be in each other's way"},
    {.radix = 4, .considered = ranks_from<8>, .reason = "four blocks come to each rank at a time"},
};

}  // namespace

constinit const algorithm pairwise{
    .of = collective::alltoall,
    .name = "pairwise",
    .summary = "in step k to the rank k on, with a bounded window of steps",
    .source = "Thakur et al. 2005",
    .default_radix = 4,
    .least_radix = 1,
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .in_lines = true, .needs_everyone = true},
    .resources = &linear,
    .variants = variants,
    .words = each,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::alltoalls
