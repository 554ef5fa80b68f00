// Dissemination (Mellor-Crummey & Scott 1991, 3.3; RDS in Kini 2003, 3.2): ceil(log2 n) rounds for any n. In round m
// rank i signals i + 2^m and waits for i - 2^m. After it, i has heard, directly or not, from the 2^(m+1) ranks that end
// at i; after the last round from all.
//
// Lines: one a round, ceil(log2 n) in all. Line m of rank i is written by i - 2^m alone.
//
// Safe (with barriers.h): a rank sends its signal of round m only after its waits of the rounds before, so a line m
// that has reached e proves that the 2^m ranks ending at its writer entered e. If the line shows e+1, its writer has
// even left e: the same, and more.
#include "collectives/barrier/barriers.h"
#include "collectives/dissemination.h"

namespace tutti::barriers {
namespace {

std::uint32_t words(const shape& s) { return rounds_of(s.size); }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  for (std::uint32_t round = 0; round < out.words; ++round) {
    const dissemination_round partners = dissemination_partners(s.rank, s.size, round);
    out.signal(partners.to, round);
    out.wait(partners.from, round);
  }
  return out;
}

picoseconds chain(const form_input& in) { return rounds_of(in.size) * hop(in, 1); }
std::int64_t messages(const form_input& in) { return std::int64_t{in.size} * rounds_of(in.size); }

constexpr variant variants[] = {{.reason = "one partner a round, ceil(log2 n) rounds at any size, all ranks alike"}};

}  // namespace

constinit const algorithm dissemination{
    .of = collective::barrier,
    .name = "dissemination",
    .alias = "rds",
    .summary = "ceil(log2 n) rounds, a signal each way to a partner twice as far each time",
    .source = "Mellor-Crummey & Scott 1991, 3.3; RDS, Kini 2003, 3.2",
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, messages},
};

}  // namespace tutti::barriers
