// Reduce to any root along a tree, in pieces. Ranks count from the root here.
//   binomial  rank r takes in the data of r + 2^j, for every 2^j below the lowest bit of r (of the root: below n), and sends all of it
//             to r without its lowest bit
//   chain     rank r takes in those of r + 1 and sends all of it to r - 1: n - 1 hops, which long data fill
//
// Operands. What is taken in becomes the right operand of what has been added up before, in the slot where it came; so nothing is
// copied but the root's result. Ranks from the root on come in their order and then those before it: the operation has to be
// commutative. tree.cpp keeps the order.
//
// Words of a rank, C = ceil(log2 n), which is the most children that one has:
//   p * C + j       the child r + 2^j has put piece p into slot p * C + j
//   pieces * C + j  the parent r - 2^j has room for this rank's data
// A rank gives its children room at the start of each run, when it has left the run before and needs nothing of its slots any
// more. Nobody puts before. Each line and each slot has one writer for ever: r +- 2^j is the same rank whatever the root, and the
// chain's child is the binomial tree's first.
#include <algorithm>

#include "collectives/binomial_tree.h"
#include "collectives/price.h"

namespace tutti::reductions {
namespace {

constexpr std::uint32_t pieces = 8;  // of a run

std::uint32_t words(const shape& s) { return (pieces + 1) * rounds_of(s.size); }
std::uint32_t slots(const shape& s) { return pieces * rounds_of(s.size); }

// `children` of them, 1, 2, 4, ... behind; the parent is 2^below before, where this rank's line is `below`.
schedule along(const shape& s, std::uint32_t children, std::uint32_t below) {
  schedule out;
  out.words = words(s);
  const std::uint32_t r = (s.rank + s.size - s.root) % s.size, lines = rounds_of(s.size);
  const auto absolute = [&](std::uint64_t relative) { return static_cast<std::uint32_t>((relative + s.root) % s.size); };
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

schedule make_binomial(const shape& s) {
  const binomial_tree tree((s.rank + s.size - s.root) % s.size, s.size);
  return along(s, tree.children(), tree.level());
}
schedule make_chain(const shape& s) { return along(s, (s.rank + 1) % s.size == s.root ? 0 : 1, 0); }

picoseconds by_puts(const form_input& in, std::uint32_t hops, std::uint32_t children) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto all = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const picoseconds one = hop(in, 1) + for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns);
  return hops * one + std::max<picoseconds>(0, all - 1) * children * for_bytes(piece, in.all.reduced_bytes_per_ns);
}
picoseconds binomial_form(const form_input& in) { return by_puts(in, rounds_of(in.size), rounds_of(in.size)); }
picoseconds chain_form(const form_input& in) { return by_puts(in, in.size - 1, 1); }

constexpr variant of_chain[] = {{.reason = "every rank sends each byte once: pays where data are long and ranks are few"}};
constexpr variant of_binomial[] = {{.reason = "ceil(log2 n) hops, in pieces"}};

}  // namespace

extern const algorithm to_root, chained_to_root;

constexpr data_layout in_pieces{.blocks = [](const shape&) { return pieces; }, .most_bytes = 16 << 10, .slots = slots};

constinit const algorithm to_root{
    .of = collective::reduce,
    .name = "binomial",
    .summary = "puts up a binomial tree, in pieces, added up on the way",
    .source = "Thakur et al. 2005",
    .needs = {.commutative = true},
    .data = in_pieces,
    .variants = of_binomial,
    .words = words,
    .make = make_binomial,
    .form = {binomial_form},
};

constinit const algorithm chained_to_root{
    .of = collective::reduce,
    .name = "chain",
    .summary = "puts from each rank to the one before, in pieces, added up on the way",
    .source = "Pjesivac-Grbovic et al. 2007 (pipelined chain)",
    .needs = {.commutative = true},
    .data = in_pieces,
    .resources = &to_root,
    .variants = of_chain,
    .words = words,
    .make = make_chain,
    .form = {chain_form},
};

}  // namespace tutti::reductions
