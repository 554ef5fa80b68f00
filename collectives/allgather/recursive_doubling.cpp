// Allgather by recursive doubling: in round m, partners at distance 2^m send each other all blocks that they have. Where n is no
// power of two, a rank that stands back (doubling.h) gives its block to the one that acts for it, and gets all of them at the end.
//
// Blocks lie in staging memory as in the result, one behind the other. A block comes to a rank by one way, from one rank for ever,
// and so does each line: m is that of the partner of round m, the next one that of the other rank of a pair. Two sets of them take
// turns (data_layout::needs_everyone). What is sent from there stays as it is to the end of the run.
// Copies of each block: one into its rank's staging memory, one out of each rank's. In place: the result is written once all puts
// are complete.
#include "collectives/doubling.h"
#include "collectives/price.h"

namespace tutti::allgathers {
namespace {

std::uint32_t words(const shape& s) { return doubling(s.size).rounds + 1; }
std::uint32_t each(const shape& s) { return s.size; }

schedule make(const shape& s) {
  const doubling d(s.size);
  schedule out;
  out.words = words(s);
  const auto at = [](std::uint32_t block) { return place{staging, 0, block}; };
  if (d.stands_back(s.rank)) {
    out.put_signal(s.rank + 1, d.rounds, s.rank, {data_in}, at(s.rank));
    out.await(s.rank + 1, d.rounds, 0, s.size);
  } else {
    out.local(step_kind::copy, s.rank, {data_in}, at(s.rank));
    if (d.in_pair(s.rank)) out.await(s.rank - 1, d.rounds, s.rank - 1);
    for (std::uint32_t m = 0; m < d.rounds; ++m) {
      const std::uint32_t group = std::uint32_t{1} << m, here = d.place_of(s.rank) / group * group, there = here ^ group;
      const std::uint32_t partner = d.rank_at(d.place_of(s.rank) ^ group);
      const auto blocks = [&](std::uint32_t place) { return d.first_of(place + group) - d.first_of(place); };
      out.put_signal(partner, m, d.first_of(here), at(d.first_of(here)), at(d.first_of(here)), blocks(here));
      out.await(partner, m, d.first_of(there), blocks(there));
    }
    if (d.in_pair(s.rank)) out.put_signal(s.rank - 1, d.rounds, 0, at(0), at(0), s.size);
  }
  out.add(step_kind::complete, any_peer);
  out.local(step_kind::copy, 0, at(0), {data_out}, s.size);
  return out;
}

picoseconds chain(const form_input& in) {
  const picoseconds each = for_bytes(in.bytes, in.link.bytes_per_ns) + for_bytes(in.bytes, in.all.copied_bytes_per_ns);
  const bool pairs = !std::has_single_bit(in.size);
  return (rounds_of(in.size) + pairs) * hop(in, 1) + (1 + pairs) * in.size * each;
}
std::int64_t messages(const form_input& in) {
  const doubling d(in.size);
  return std::int64_t{d.places()} * d.rounds + 2 * std::int64_t{d.pairs};
}

bool few(const placement& p) { return p.ranks > 2 && p.ranks <= 1024; }
constexpr variant variants[] = {
    {.considered = few, .reason = "log2 n rounds, 2 more unless n is a power of two: pays where blocks are short"}};

}  // namespace

extern const algorithm recursive_doubling;
constinit const algorithm recursive_doubling{
    .of = collective::allgather,
    .name = "recursive_doubling",
    .alias = "rds",
    .summary = "pairs exchange all they have, at distances 1, 2, 4, ...",
    .source = "Thakur et al. 2005",
    .needs = {.alike = true},
    .data = {.blocks = each, .most_bytes = 32 << 10, .slots = each, .together = each, .needs_everyone = true},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::allgathers
