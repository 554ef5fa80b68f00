// Scan and exscan in ceil(log2 n) rounds: in round m a rank sends the sum of the 2^m ranks up to its own to the rank 2^m behind it.
//
// Operands. What comes is the sum of the 2^m ranks right before those that this rank has added up: it becomes the left operand, so
// the order of the ranks is kept. An exscan adds up the ranks before its own beside that, from copies of what comes.
//
// Line m and slot m of a rank belong to the rank 2^m before it, their one writer for ever; slot rounds + m is the rank's own. Sets of
// them take turns (data_layout::synchronizes), since rank 0 takes nothing from anybody.
#include "collectives/dissemination.h"
#include "collectives/price.h"

namespace tutti::scans {
namespace {

std::uint32_t words(const shape& s) { return 3 * rounds_of(s.size); }
std::uint32_t slots(const shape& s) { return 2 * rounds_of(s.size); }

schedule make(const shape& s, bool inclusive) {
  const std::uint32_t rounds = rounds_of(s.size);
  schedule out;
  out.words = words(s);
  if (s.first_set) add_barrier(out, s.rank, s.size, 2 * rounds);
  place sum{data_in}, before{};
  for (std::uint32_t m = 0; m < rounds; ++m) {
    const std::uint32_t distance = std::uint32_t{1} << m;
    const place theirs{staging, m}, copied{staging, rounds + m};
    if (s.rank + distance < s.size) out.put_signal(s.rank + distance, m, 0, sum, theirs);
    if (s.rank < distance) continue;
    out.await(s.rank - distance, m, 0);
    if (!inclusive) {
      out.local(step_kind::copy, 0, theirs, copied);
      if (m > 0) out.local(step_kind::reduce_right, 0, before, copied);
      before = copied;
    }
    out.local(step_kind::reduce_right, 0, sum, theirs);
    sum = theirs;
  }
  out.add(step_kind::complete, any_peer);  // the caller's data may be where the result goes
  if (inclusive) out.local(step_kind::copy, 0, sum, {data_out});
  else if (s.rank > 0) out.local(step_kind::copy, 0, before, {data_out});
  return out;
}
schedule make_scan(const shape& s) { return make(s, true); }
schedule make_exscan(const shape& s) { return make(s, false); }

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto runs = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  return runs * rounds_of(in.size) * (hop(in, 1) + for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns));
}
std::int64_t messages(const form_input& in) {
  std::int64_t all = 0;
  for (std::uint64_t distance = 1; distance < in.size; distance *= 2) all += in.size - static_cast<std::int64_t>(distance);
  return all;
}

constexpr variant variants[] = {{.reason = "ceil(log2 n) rounds of all the data"}};
constexpr data_layout layout{.blocks = [](const shape&) { return 1u; }, .most_bytes = 32 << 10, .slots = slots, .in_lines = true, .synchronizes = true};

}  // namespace

extern const algorithm doubling, exclusive_doubling;

constinit const algorithm doubling{
    .of = collective::scan,
    .name = "doubling",
    .summary = "sums of 1, 2, 4, ... ranks go 1, 2, 4, ... ranks on",
    .source = "Hillis and Steele 1986",
    .canonical = true,
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_scan,
    .form = {chain, messages},
};

constinit const algorithm exclusive_doubling{
    .of = collective::exscan,
    .name = "doubling",
    .summary = "as the scan, and beside it the sum of the ranks before",
    .source = "Hillis and Steele 1986",
    .canonical = true,
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_exscan,
    .form = {chain, messages},
};

}  // namespace tutti::scans
