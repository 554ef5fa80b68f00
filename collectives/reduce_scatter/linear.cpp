// Reduce_scatter by one put from each rank to each other one, which adds up what has come.
//
// Operands. A rank adds up in the canonical order (doubling.h): every operation will do. The right one of two operands takes in the
// left one, in its slot; the rank's own data become an operand of what is in a slot.
//
// Line r and slot r of a rank are rank r's, their one writer for ever. Two sets of them take turns (data_layout::needs_everyone).
// Copies of each block: one into the other's slot; of the result, one out of it.
#include <vector>

#include "collectives/doubling.h"
#include "collectives/price.h"

namespace tutti::reduce_scatters {
namespace {

std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  schedule out;
  out.words = each(s);
  for (std::uint32_t k = 1; k < s.size; ++k) {
    const std::uint32_t to = (s.rank + k) % s.size;
    out.put_signal(to, s.rank, to, {data_in}, {staging, s.rank});
  }
  const auto take = [&](std::uint32_t from) {
    if (from == s.rank) return place{data_in};
    out.await(from, from, s.rank);
    return place{staging, from};
  };
  const auto add = [&](const place& left, const place& right) {
    if (right.buffer != data_in) return out.local(step_kind::reduce_left, s.rank, left, right), right;
    return out.local(step_kind::reduce_right, s.rank, right, left), left;
  };
  const doubling d(s.size);
  std::vector<place> sums;  // of groups of neighbours, each half of the one before at most
  for (std::uint32_t here = 0; here < d.places(); ++here) {
    const std::uint32_t first = d.first_of(here);
    place sum = take(first);
    if (d.in_pair(first)) sum = add(sum, take(first + 1));
    for (std::uint32_t group = here; group & 1; group /= 2) sum = add(sums.back(), sum), sums.pop_back();
    sums.push_back(sum);
  }
  const place sum = sums[0];
  out.add(step_kind::complete, any_peer);  // the caller's data may be where the result goes
  out.local(step_kind::copy, s.rank, sum, {data_out});
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.reduced_bytes_per_ns);
  return hop(in, in.size - 1) + (in.size - 1) * each;
}
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "one hop, n(n-1) messages"}};

}  // namespace

extern const algorithm linear;
constinit const algorithm linear{
    .of = collective::reduce_scatter,
    .name = "linear",
    .summary = "each rank puts every other one its operands",
    .source = "Thakur et al. 2005 (pairwise exchange, all at once)",
    .canonical = true,
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = each,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::reduce_scatters
