// Pairwise exchange by recursive doubling (RPE in Kini 2003, 3.1; Gupta 2002, 5.1). In round m ranks i and i xor 2^m
// signal each other and wait. log2 n rounds for a power of two. Otherwise S is the largest power of two below n: each
// of the n - S ranks behind S first signals its twin in S, S does the exchange, and the twins pass the result on:
// floor(log2 n) + 2 steps.
//
// Lines: one a round, floor(log2 n), and one more unless n is a power of two: in a rank of S its twin's arrival, in a
// rank behind S its release. Line m of rank i is written by i xor 2^m alone, the last by the twin alone.
//
// Safe (with barriers.h): a rank of S signals in round m only after its waits of the rounds before, so line m having
// reached e proves that the 2^m ranks of the writer's group, twins included, entered e. A twin is released by a rank
// that has finished all rounds. A twin cannot run ahead of its release, thus its own line is at most one epoch ahead.
#include "collectives/barrier/barriers.h"

namespace tutti::barriers {
namespace {

std::uint32_t words(const shape& s) { return rounds_of(s.size); }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.size < 2) return out;
  const std::uint32_t whole = std::bit_floor(s.size);  // S
  const std::uint32_t rounds = rounds_of(whole);
  const std::uint32_t twin_line = rounds;
  if (s.rank >= whole) {
    out.signal(s.rank - whole, twin_line);
    out.wait(s.rank - whole, twin_line);
    return out;
  }
  const bool has_twin = s.rank + whole < s.size;
  if (has_twin) out.wait(s.rank + whole, twin_line);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::uint32_t partner = s.rank ^ (1u << round);
    out.signal(partner, round);
    out.wait(partner, round);
  }
  if (has_twin) out.signal(s.rank + whole, twin_line);
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint32_t rounds = rounds_of(std::bit_floor(in.size));
  return (rounds + (std::has_single_bit(in.size) ? 0 : 2)) * hop(in, 1);
}
std::int64_t messages(const form_input& in) {
  const std::uint32_t paired = std::bit_floor(in.size);
  return std::int64_t{paired} * rounds_of(paired) + 2 * std::int64_t{in.size - paired};
}

constexpr variant variants[] = {{.reason = "as dissemination for powers of two, two steps more otherwise (Kini 2003, 6)"}};

}  // namespace

extern const algorithm pairwise;
constinit const algorithm pairwise{
    .of = collective::barrier,
    .name = "pairwise",
    .alias = "rpe",
    .summary = "recursive doubling; two steps more unless n is a power of two",
    .source = "RPE, Kini 2003, 3.1; Gupta 2002, 5.1",
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::barriers
