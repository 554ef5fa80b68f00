// Reductions after Rabenseifner: the data fall into as many blocks as there are places (doubling.h). In round m, partners at distance
// 2^m each keep half of the blocks that they still have, give the other the other half, and add up what comes: so that after all
// rounds each has the sum of one block. The rounds backwards then bring all blocks to all ranks (allreduce), or to the root's place
// (reduce): at distance 2^m a rank that differs from it in bit m gives what it has, and is done. A rank that stands back gives its
// data to the one that acts for it, and gets the result if it has one, or a signal.
//
// Operands. A rank and its partner in round m have added up neighbouring groups of 2^m places, in their order: every operation will
// do, and each element is added up in the canonical order, as by recursive doubling.
//
// Lines: m for round m, rounds + m for it backwards, the last for the other rank of a pair. Each of them, and each place in the slots,
// has one writer for ever: the slots of the pair, of each round, and of the result are apart. Two sets of them take turns: whoever
// leaves a run has, or hears from who has, a block with every rank's data (data_layout::needs_everyone).
// Copies: of 1/places of the data, the rank's own sum into its slot among the others; of the result, one out of the slots. In place:
// the result is written once all puts are complete.
#include "collectives/doubling.h"
#include "collectives/price.h"

namespace tutti::reductions {
namespace {

std::uint32_t words(const shape& s) { return 2 * doubling(s.size).rounds + 1; }
std::uint32_t blocks(const shape& s) { return doubling(s.size).places(); }
std::uint32_t slots(const shape& s) { return 3 * blocks(s); }
// Most go at once within a pair.
std::uint32_t together(const shape& s) { return doubling(s.size).pairs ? blocks(s) : blocks(s) / 2 + 1; }

schedule make(const shape& s, bool all) {
  const doubling d(s.size);
  schedule out;
  out.words = words(s);
  const std::uint32_t n = d.places(), pair = 2 * d.rounds;
  const auto result = [n](std::uint32_t block) { return place{staging, 2 * n, block}; };
  const bool wanted = all || s.rank == s.root;
  if (d.stands_back(s.rank)) {
    out.put_signal(s.rank + 1, pair, 0, {data_in}, {staging, 0}, n);
    out.await(s.rank + 1, pair, 0, n);
  } else {
    const bool for_two = d.in_pair(s.rank);
    const std::uint32_t here = d.place_of(s.rank), to = d.place_of(s.root);
    place sum{data_in};            // of the blocks from `base` on
    std::uint32_t base = 0, first = 0, count = n;
    const auto at = [&](std::uint32_t block) { return sum.buffer == data_in ? sum : place{staging, sum.slot, block - base}; };
    if (for_two) {
      out.await(s.rank - 1, pair, 0, n);
      out.local(step_kind::reduce_right, 0, sum, {staging, 0}, n);
      sum = {staging, 0};
    }
    for (std::uint32_t m = 0; m < d.rounds; ++m) {
      const std::uint32_t there = here ^ (std::uint32_t{1} << m), partner = d.rank_at(there);
      count /= 2;
      const std::uint32_t given = here < there ? first + count : first, kept = here < there ? first : first + count;
      const place theirs{staging, n + (n - 2 * count)};
      out.put_signal(partner, m, given, at(given), theirs, count);
      out.await(partner, m, kept, count);
      out.local(joining(here, there), kept, at(kept), theirs, count);
      sum = theirs, base = first = kept;
    }
    out.local(step_kind::copy, first, at(first), result(first));
    for (std::uint32_t m = d.rounds; m-- > 0; count *= 2) {
      const std::uint32_t distance = std::uint32_t{1} << m, partner = d.rank_at(here ^ distance);
      const bool gives = all || ((here ^ to) & distance) != 0;
      if (gives) out.put_signal(partner, d.rounds + m, first, result(first), result(first), count);
      if (gives && !all) break;
      out.await(partner, d.rounds + m, first ^ count, count);
      first &= ~count;
    }
    if (for_two && (all || s.rank - 1 == s.root)) out.put_signal(s.rank - 1, pair, 0, result(0), result(0), n);
    else if (for_two) {
      step& told = out.add(step_kind::signal, s.rank - 1, pair);
      told.block = 0, told.count = n, told.from = result(0);
    }
  }
  out.add(step_kind::complete, any_peer);
  if (wanted) out.local(step_kind::copy, 0, result(0), {data_out}, n);
  return out;
}
schedule make_all(const shape& s) { return make(s, true); }
schedule make_one(const shape& s) { return make(s, false); }

picoseconds chain(const form_input& in) {
  const doubling d(in.size);
  const std::uint64_t run = std::min<std::uint64_t>(in.bytes, in.piece * d.places());
  const auto runs = static_cast<picoseconds>(run ? (in.bytes + run - 1) / run : 0);
  const picoseconds wire = for_bytes(run, in.link.bytes_per_ns), sums = for_bytes(run, in.all.reduced_bytes_per_ns);
  const std::uint32_t more = d.pairs ? 1 : 0;
  return runs * ((2 * d.rounds + 2 * more) * hop(in, 1) + (2 + 2 * more) * wire + (1 + more) * sums + for_bytes(run, in.all.copied_bytes_per_ns));
}
std::int64_t messages(const form_input& in) {
  const doubling d(in.size);
  return std::int64_t{d.places()} * 2 * d.rounds + 2 * std::int64_t{d.pairs};
}
std::int64_t messages_to_one(const form_input& in) {
  const doubling d(in.size);
  return std::int64_t{d.places()} * (d.rounds + 1) - 1 + 2 * std::int64_t{d.pairs};
}

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {{.considered = few, .reason = "each rank sends the data twice, in 2 log2 n rounds: pays where it is long"}};
constexpr data_layout layout{.blocks = blocks, .even = true, .most_bytes = 32 << 10, .slots = slots,
                             .together = together, .needs_everyone = true};

}  // namespace

extern const algorithm rabenseifner, rabenseifner_to_root;

constinit const algorithm rabenseifner{
    .of = collective::allreduce,
    .name = "rabenseifner",
    .summary = "pairs at distances 1, 2, 4, ... halve what they add up, and bring the sums together on the way back",
    .source = "Rabenseifner 2004; Thakur et al. 2005",
    .canonical = true,
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_all,
    .form = {chain, messages},
};

constinit const algorithm rabenseifner_to_root{
    .of = collective::reduce,
    .name = "rabenseifner",
    .summary = "as the allreduce, and the sums come together at the root",
    .source = "Rabenseifner 2004; Thakur et al. 2005",
    .canonical = true,
    .data = layout,
    .variants = variants,
    .words = words,
    .make = make_one,
    .form = {chain, messages_to_one},
};

}  // namespace tutti::reductions
