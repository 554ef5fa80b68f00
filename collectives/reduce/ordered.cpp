// Reduce in the canonical order (doubling.h), for any root: in round m a place that differs from the root's in bit m gives what it has
// added up to its partner at distance 2^m, and is done. A rank that stands back gives its data before, and gets the result if it is
// the root.
//
// Operands. Partners have added up neighbouring groups of places, and `joining` keeps their order: every operation will do, and each
// element is added up in the same grouping, whatever the root.
//
// Words of a rank, L = rounds + 1, where line m is of the partner at distance 2^m and line `rounds` of the other rank of a pair:
//   p * L + m       it has put piece p into slot p * L + m
//   pieces * L + m  it has room for this rank's data
// A rank gives room at the start of each run, when it has left the run before, its puts complete, and needs nothing of its slots any
// more. Nobody puts before. Each line and each slot has one writer for ever, whatever the root.
// Copies: of the result, one. In place: a piece of the root's data is read before its result is written; a root that stands back has
// completed its puts by then.
#include <vector>

#include "collectives/doubling.h"
#include "collectives/price.h"

namespace tutti::reductions {
namespace {

constexpr std::uint32_t pieces = 8;  // of a run

std::uint32_t lines(const shape& s) { return doubling(s.size).rounds + 1; }
std::uint32_t words(const shape& s) { return (pieces + 1) * lines(s); }
std::uint32_t slots(const shape& s) { return pieces * lines(s); }

schedule make(const shape& s) {
  const doubling d(s.size);
  schedule out;
  out.words = words(s);
  const std::uint32_t per_piece = lines(s), room = pieces * per_piece;
  struct link {
    std::uint32_t rank, line;
    step_kind join;
  };
  std::vector<link> from;  // in their order
  link to{any_peer, 0, {}};
  if (d.stands_back(s.rank)) {
    to = {s.rank + 1, d.rounds, {}};
    if (s.rank == s.root) from.push_back({s.rank + 1, d.rounds, {}});
  } else {
    if (d.in_pair(s.rank)) from.push_back({s.rank - 1, d.rounds, step_kind::reduce_right});
    const std::uint32_t here = d.place_of(s.rank), sink = d.place_of(s.root);
    for (std::uint32_t m = 0; m < d.rounds && to.rank == any_peer; ++m) {
      const std::uint32_t there = here ^ (std::uint32_t{1} << m);
      if (((here ^ sink) >> m & 1) != 0) to = {d.rank_at(there), m, {}};
      else from.push_back({d.rank_at(there), m, joining(here, there)});
    }
    if (to.rank == any_peer && s.rank != s.root) to = {s.rank - 1, d.rounds, {}};
  }
  for (const link& l : from) out.signal(l.rank, room + l.line);
  for (std::uint32_t p = 0; p < pieces; ++p) {
    place sum{data_in};
    const auto take = [&](const link& l) {
      const place theirs{staging, p * per_piece + l.line};
      out.await(l.rank, theirs.slot, p);
      out.local(l.join, p, sum, theirs);
      sum = theirs;
    };
    const auto give = [&] {
      if (p == 0) out.wait(to.rank, room + to.line);
      const std::uint32_t there = p * per_piece + to.line;
      out.put_signal(to.rank, there, p, sum, {staging, there});
    };
    if (!d.stands_back(s.rank))
      for (const link& l : from) take(l);
    if (to.rank != any_peer) give();
    else out.local(step_kind::copy, p, sum, {data_out});
  }
  if (to.rank != any_peer) out.add(step_kind::complete, any_peer);
  for (std::uint32_t p = 0; d.stands_back(s.rank) && s.rank == s.root && p < pieces; ++p) {
    const place result{staging, p * per_piece + d.rounds};
    out.await(s.rank + 1, result.slot, p);
    out.local(step_kind::copy, p, result, {data_out});
  }
  return out;
}

picoseconds chain(const form_input& in) {
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto all = static_cast<picoseconds>(piece ? (in.bytes + piece - 1) / piece : 0);
  const picoseconds one = hop(in, 1) + for_bytes(piece, in.link.bytes_per_ns) + for_bytes(piece, in.all.reduced_bytes_per_ns);
  return (rounds_of(in.size) + 1) * one + std::max<picoseconds>(0, all - 1) * rounds_of(in.size) * for_bytes(piece, in.all.reduced_bytes_per_ns);
}

constexpr variant variants[] = {{.reason = "ceil(log2 n) hops, in pieces, operands in order"}};

}  // namespace

extern const algorithm ordered;
constinit const algorithm ordered{
    .of = collective::reduce,
    .name = "ordered",
    .summary = "up a binomial tree of neighbouring groups of ranks, in pieces",
    .source = "Thakur et al. 2005 (recursive doubling, one way)",
    .canonical = true,
    .data = {.blocks = [](const shape&) { return pieces; }, .most_bytes = 16 << 10, .slots = slots},
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain},
};

}  // namespace tutti::reductions
