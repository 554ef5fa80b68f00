// Allreduce by recursive doubling: in round m ranks i and i xor 2^m send each other all they have added up, so that after
// ceil(log2 n) rounds each has the sum of all. Where n is no power of two, the first ranks join in pairs before and part after
// it: of 2i and 2i + 1 the even one sends its data to the odd one, which takes both through the rounds and sends it the result.
//
// Operands. Whom a rank meets in round m has added up the 2^m ranks right before or right behind this rank's own, so the order of
// the ranks is kept, and every rank makes the same additions: all get the same bits. What comes stays in its slot and takes in
// what was added up before; the result is the only copy.
//
// Lines and slots: m for the partner of round m; the next one for the even rank's data, or its result. Each has one writer for
// ever. Two sets of slots take turns, by the parity of the run (data_layout::needs_everyone).
#include "collectives/doubling.h"
#include "collectives/price.h"

namespace tutti::reductions {
namespace {

std::uint32_t words(const shape& s) { return doubling(s.size).rounds + 1; }

schedule make(const shape& s) {
  const doubling d(s.size);
  schedule out;
  out.words = words(s);
  const place mate_data{staging, d.rounds};
  place sum{data_in};
  if (d.stands_back(s.rank)) {
    out.put_signal(s.rank + 1, d.rounds, 0, sum, mate_data);
    out.await(s.rank + 1, d.rounds, 0);
    sum = mate_data;
  } else {
    if (d.in_pair(s.rank)) {
      out.await(s.rank - 1, d.rounds, 0);
      out.local(step_kind::reduce_right, 0, sum, mate_data);
      sum = mate_data;
    }
    const std::uint32_t here = d.place_of(s.rank);
    for (std::uint32_t m = 0; m < d.rounds; ++m) {
      const std::uint32_t there = here ^ (std::uint32_t{1} << m), partner = d.rank_at(there);
      const place theirs{staging, m};
      out.put_signal(partner, m, 0, sum, theirs);
      out.await(partner, m, 0);
      out.local(joining(here, there), 0, sum, theirs);
      sum = theirs;
    }
    if (d.in_pair(s.rank)) out.put_signal(s.rank - 1, d.rounds, 0, sum, mate_data);
  }
  out.add(step_kind::complete, any_peer);  // the caller's data may be where the result goes
  out.local(step_kind::copy, 0, sum, {data_out});
  return out;
}

picoseconds chain(const form_input& in) {
  const auto runs = static_cast<picoseconds>(in.bytes ? (in.bytes + in.piece - 1) / in.piece : 0);
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const picoseconds round = hop(in, 1) + for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns);
  return runs * (rounds_of(in.size) + (std::has_single_bit(in.size) ? 0 : 1)) * round;
}
std::int64_t messages(const form_input& in) {
  const doubling d(in.size);
  return std::int64_t{in.size - d.pairs} * d.rounds + 2 * std::int64_t{d.pairs};
}

constexpr variant variants[] = {{.reason = "ceil(log2 n) rounds of all the data: pays where it is short"}};

}  // namespace

extern const algorithm recursive_doubling;
constinit const algorithm recursive_doubling{
    .of = collective::allreduce,
    .name = "recursive_doubling",
    .alias = "rds",
    .summary = "pairs exchange what they have added up, at distances 1, 2, 4, ...",
    .source = "Thakur et al. 2005",
    .canonical = true,
    .data = {.blocks = [](const shape&) { return 1u; }, .most_bytes = 64 << 10, .slots = words, .in_lines = true, .needs_everyone = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::reductions
