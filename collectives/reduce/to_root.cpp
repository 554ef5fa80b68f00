// Reduce up a binomial tree to any root. Ranks count from the root here: rank r takes in the data of r + 2^j, for every 2^j
// below the lowest bit of r (of the root: below n), and sends all of it to r without its lowest bit.
//
// Operands. What is taken in becomes the right operand of what has been added up before, in the slot where it came; so nothing is
// copied but the root's result. Ranks from the root on come in their order and then those before it: the operation has to be
// commutative. tree.cpp keeps the order.
//
// Words of a rank, C = ceil(log2 n), which is the most children that one has:
//   p * C + j       the child r + 2^j has put piece p into slot p * C + j
//   pieces * C + j  the parent r - 2^j has room for this rank's data
// A rank gives its children room at the start of each run, when it has left the run before and needs nothing of its slots any
// more. Nobody puts before. Each line and each slot has one writer for ever: r +- 2^j is the same rank whatever the root.
#include <algorithm>

#include "collectives/price.h"

namespace tutti::reductions {
namespace {

constexpr std::uint32_t pieces = 8;  // of a run

std::uint32_t words(const shape& s) { return (pieces + 1) * rounds_of(s.size); }
std::uint32_t slots(const shape& s) { return pieces * rounds_of(s.size); }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  const std::uint32_t r = (s.rank + s.size - s.root) % s.size, lines = rounds_of(s.size);
  const auto absolute = [&](std::uint64_t relative) { return static_cast<std::uint32_t>((relative + s.root) % s.size); };
  const std::uint32_t below = r == 0 ? lines : static_cast<std::uint32_t>(std::countr_zero(r));  // and this rank's line at its parent
  std::uint32_t children = 0;
  while (children < below && std::uint64_t{r} + (std::uint64_t{1} << children) < s.size) ++children;
  const auto child = [&](std::uint32_t j) { return absolute(std::uint64_t{r} + (std::uint64_t{1} << j)); };

  for (std::uint32_t j = 0; j < children; ++j) out.signal(child(j), pieces * lines + j);
  for (std::uint32_t p = 0; p < pieces; ++p) {
    place sum{data_in};
    for (std::uint32_t j = 0; j < children; ++j) {
      const place theirs{staging, p * lines + j};
      out.await(child(j), p * lines + j, p);
      out.local(step_kind::reduce_left, p, sum, theirs);
      sum = theirs;
    }
    if (r == 0) {
      out.local(step_kind::copy, p, sum, {data_out});
      continue;
    }
    const std::uint32_t parent = absolute(r - (std::uint64_t{1} << below));
    if (p == 0) out.wait(parent, pieces * lines + below);
    out.put_signal(parent, p * lines + below, p, sum, {staging, p * lines + below});
  }
  if (r != 0) out.add(step_kind::complete, any_peer);
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto all = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const picoseconds one = hop(in, 1) + for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, reduced_bytes_per_ns);
  return rounds_of(in.size) * one + std::max<picoseconds>(0, all - 1) * rounds_of(in.size) * for_bytes(piece, reduced_bytes_per_ns);
}

constexpr variant variants[] = {{.reason = "ceil(log2 n) hops, in pieces"}};

}  // namespace

extern const algorithm to_root;
constinit const algorithm to_root{
    .of = collective::reduce,
    .name = "binomial",
    .summary = "puts up a binomial tree, in pieces, added up on the way",
    .source = "Thakur et al. 2005",
    .needs = {.commutative = true},
    .data = {.blocks = [](const shape&) { return pieces; }, .most_bytes = 16 << 10, .slots = slots},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain},
};

}  // namespace tutti::reductions
