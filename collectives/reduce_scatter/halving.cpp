// Reduce_scatter by halving: in round m, partners at distance 2^m (doubling.h) each keep the blocks of the ranks whose places have their
// bit m, give the other the others, and add up what comes. A rank that stands back gives all its blocks to the one that acts for it,
// and gets the sum of its own.
//
// Operands. A rank and its partner in round m have added up neighbouring groups of 2^m places, in their order: every operation will
// do, and each element is added up in the canonical order.
//
// Blocks are packed in the order of their places' bits reversed: then what is kept or given in a round is one range. Line m is the
// partner's of round m, the last that of the other rank of a pair; each of them, and each part of the slots, has one writer for ever.
// Two sets take turns (data_layout::needs_everyone).
// Copies: of half the blocks, one to pack them (of a rank that stands back, of all); of the result, one out of its slot. In place: the
// result is written once all puts are complete.
#include <vector>

#include "collectives/doubling.h"
#include "collectives/price.h"

namespace tutti::reduce_scatters {
namespace {

std::uint32_t words(const shape& s) { return doubling(s.size).rounds + 1; }
std::uint32_t each(const shape& s) { return s.size; }
// What is packed, what the other rank of a pair gives, and what the partners do.
std::uint32_t slots(const shape& s) { return 4 * s.size; }
std::uint32_t together(const shape& s) { return doubling(s.size).pairs ? s.size : s.size / 2 + 1; }

std::vector<std::uint32_t> places_by_bits_reversed(std::uint32_t rounds) {
  std::vector<std::uint32_t> out{0};
  for (std::uint32_t m = rounds; m-- > 0;) {
    const std::size_t half = out.size();
    for (std::size_t i = 0; i < half; ++i) out.push_back(out[i] + (std::uint32_t{1} << m));
  }
  return out;
}

schedule make(const shape& s) {
  const doubling d(s.size);
  schedule out;
  out.words = words(s);
  const std::uint32_t n = s.size, pair = d.rounds;
  std::vector<std::uint32_t> order, begins;  // blocks, and where each place's begin
  for (const std::uint32_t p : places_by_bits_reversed(d.rounds)) {
    begins.push_back(static_cast<std::uint32_t>(order.size()));
    for (std::uint32_t rank = d.first_of(p); rank < d.first_of(p + 1); ++rank) order.push_back(rank);
  }
  begins.push_back(n);
  const place packed{staging, 0}, others{staging, n}, mine{staging, 4 * n - 1};
  // Of the blocks of the places `from` to `to`, by bits reversed, from the caller's memory.
  const auto each_block = [&](step_kind what, std::uint32_t from, std::uint32_t to, place at) {
    for (std::uint32_t k = begins[from]; k < begins[to]; ++k, ++at.behind) out.local(what, order[k], {data_in}, at);
  };
  place sum;
  if (d.stands_back(s.rank)) {
    each_block(step_kind::copy, 0, d.places(), packed);
    out.put_signal(s.rank + 1, pair, 0, packed, others, n);
    out.await(s.rank + 1, pair, 0);
    sum = mine;
  } else {
    const bool for_two = d.in_pair(s.rank);
    const std::uint32_t here = d.place_of(s.rank);
    std::uint32_t first = 0, count = d.places(), area = 2 * n;
    place all = others;  // of what is left, the first; unless it is still the caller's
    bool callers = !for_two;
    if (for_two) {
      out.await(s.rank - 1, pair, 0, n);
      each_block(step_kind::reduce_right, 0, d.places(), others);
    }
    for (std::uint32_t m = 0; m < d.rounds; ++m) {
      const std::uint32_t there = here ^ (std::uint32_t{1} << m), partner = d.rank_at(there);
      const std::uint32_t base = begins[first];
      count /= 2;
      const std::uint32_t given = here < there ? first + count : first, kept = here < there ? first : first + count;
      const std::uint32_t gives = begins[given + count] - begins[given], keeps = begins[kept + count] - begins[kept];
      const auto at = [&](std::uint32_t place_index) { return place{all.buffer, all.slot, all.behind + begins[place_index] - base}; };
      const place theirs{staging, area};
      // The partner puts what it gives where this rank puts what it gives: at `area`, which has room for either.
      if (callers) each_block(step_kind::copy, given, given + count, packed);
      out.put_signal(partner, m, 0, callers ? packed : at(given), theirs, gives);
      out.await(partner, m, 0, keeps);
      if (callers) each_block(joining(here, there), kept, kept + count, theirs);
      else out.local(joining(here, there), 0, at(kept), theirs, keeps);
      area += count * (d.pairs ? 2 : 1);
      all = theirs, first = kept, callers = false;
    }
    sum = all;
    if (for_two) {
      out.put_signal(s.rank - 1, pair, 0, sum, mine);
      ++sum.behind;
    }
  }
  out.add(step_kind::complete, any_peer);
  out.local(step_kind::copy, s.rank, sum, {data_out});
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint32_t more = std::has_single_bit(in.size) ? 0 : 1;
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.reduced_bytes_per_ns);
  return (rounds_of(in.size) + more) * hop(in, 1) + (1 + more) * in.size * each;
}
std::int64_t messages(const form_input& in) {
  const doubling d(in.size);
  return std::int64_t{d.places()} * d.rounds + 2 * std::int64_t{d.pairs};
}

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {
    {.considered = few, .reason = "log2 n rounds, 2 more unless n is a power of two: pays where blocks are short"}};

}  // namespace

extern const algorithm halving;
constinit const algorithm halving{
    .of = collective::reduce_scatter,
    .name = "recursive_halving",
    .summary = "pairs at distances 1, 2, 4, ... halve what they add up",
    .source = "Thakur et al. 2005, distances doubling",
    .needs = {.alike = true},
    .canonical = true,
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = slots, .together = together, .needs_everyone = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::reduce_scatters
