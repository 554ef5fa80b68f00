// Broadcast by puts along a tree, in pieces: the root puts them from the caller's memory, or from its staging memory where that is
// cheaper (shape::copies_first). Each other rank passes a piece on from its staging memory as soon as it has come, and copies it out
// while the puts are under way. Ranks count from the root here.
//   binomial  rank r sends to r + 2^j for every 2^j > r: ceil(log2 n) hops, and as many sends at the root
//   k-nomial  the same with base k = l + 1: rank r sends to r + c * k^j, c = 1 .. l, for every k^j > r: ceil(log_k n) hops
//   chain     rank r sends to r + 1: one send each, n - 1 hops, which long messages fill
//
// Words: line p of a rank says that piece p has come; line `pieces` + j of a parent, that its child j may be written
// to. A rank signals its parent so at the start of each run, which is when it has left the run before and its staging
// memory is free; no parent puts before. So there is one writer at a time: whoever was parent in an earlier run, with
// another root perhaps, has been waited for in that run, word by word, before this rank let the next one write. A child's
// line has one writer for ever: rank + c * k^j is the same rank whatever the root, and the chain's child is the binomial
// tree's first. What a rank puts is complete before it leaves the run.
// Copies: two for each rank but the root, one to it and one out of its staging memory; one at the root, if it copies first.
#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/price.h"

namespace tutti::broadcasts {

extern const algorithm binomial, chain, knomial;

namespace {

constexpr std::uint32_t pieces = 16;       // of a run
constexpr std::uint32_t most_piece = 64 << 10;  // bytes that are passed on at once

struct link {
  std::uint32_t rank;  // team index
  std::uint32_t line;  // of the parent, the child's
};

struct links {
  bool root = true;
  link parent{};               // its line there is this rank's
  std::vector<link> children;  // largest subtree first
};

// Children that a rank may have in the k-nomial tree of fan-in l.
std::uint32_t most_children(std::uint32_t size, std::uint32_t fan_in) {
  std::uint32_t most = 0;
  for (std::uint64_t distance = 1; distance < size; distance *= fan_in + std::uint64_t{1}) most += fan_in;
  return most;
}
std::uint32_t words_for(const shape& s, std::uint32_t fan_in) { return pieces + most_children(s.size, fan_in); }
// One for each piece, and one for each child that a rank may have in the binomial tree or the chain.
std::uint32_t words(const shape& s) { return words_for(s, 1); }

schedule along(const shape& s, const links& tree, std::uint32_t fan_in = 1) {
  schedule out;
  out.words = words_for(s, fan_in);
  if (s.size < 2) return out;
  if (!tree.root) out.signal(tree.parent.rank, pieces + tree.parent.line);
  for (std::uint32_t piece = 0; piece < pieces; ++piece) {
    const place slot{staging, piece}, here = tree.root && !s.copies_first ? place{data_out} : slot;
    if (!tree.root) out.await(tree.parent.rank, piece, piece);
    else if (s.copies_first) out.local(step_kind::copy, piece, {data_out}, slot);
    for (const link& child : tree.children) {
      if (piece == 0) out.wait(child.rank, pieces + child.line);
      out.put_signal(child.rank, piece, piece, here, slot);
    }
    if (!tree.root) out.local(step_kind::copy, piece, slot, {data_out});
  }
  if (!tree.children.empty()) out.add(step_kind::complete, any_peer);
  return out;
}

schedule k_nomial(const shape& s, std::uint32_t fan_in) {
  const std::uint64_t r = (s.rank + s.size - s.root) % s.size, base = fan_in + std::uint64_t{1};
  const auto absolute = [&](std::uint64_t relative) { return static_cast<std::uint32_t>((relative + s.root) % s.size); };
  links tree{.root = r == 0};
  std::uint64_t distance = 1;
  std::uint32_t line = 0;
  for (; distance <= r; distance *= base, line += fan_in)
    if (distance * base > r) tree.parent = {absolute(r % distance), line + static_cast<std::uint32_t>(r / distance) - 1};
  for (; distance < s.size; distance *= base)
    for (std::uint32_t c = 1; c <= fan_in; ++c, ++line)
      if (r + c * distance < s.size) tree.children.push_back({absolute(r + c * distance), line});
  return along(s, tree, fan_in);
}
schedule make_binomial(const shape& s) { return k_nomial(s, 1); }
schedule make_knomial(const shape& s) { return k_nomial(s, radix_of(knomial, s.radix)); }
std::uint32_t words_of_knomial(const shape& s) { return words_for(s, radix_of(knomial, s.radix)); }

schedule make_chain(const shape& s) {
  const std::uint32_t r = (s.rank + s.size - s.root) % s.size;
  links tree{.root = r == 0};
  if (r > 0) tree.parent = {(s.rank + s.size - 1) % s.size, 0};
  if (r + 1 < s.size) tree.children.push_back({(s.rank + 1) % s.size, 0});
  return along(s, tree);
}

// `hops` to the last rank, `sends` of each piece at the busiest one. Every run begins with a signal from child to parent,
// which is there already but in the first.
picoseconds by_puts(const form_input& in, std::uint32_t hops, std::uint32_t sends) {
  if (in.size < 2 || in.bytes == 0) return 0;
  const std::uint64_t piece = std::min(in.piece, in.bytes);
  const auto all = static_cast<picoseconds>((in.bytes + in.piece - 1) / in.piece);
  const picoseconds runs = (all + pieces - 1) / pieces;
  const picoseconds wire = for_bytes(piece, in.link.bytes_per_ns), copy = for_bytes(piece, in.all.copied_bytes_per_ns);
  return in.link.message() + runs * (hops * (hop(in, 1) + wire) + (in.all.mapped ? 1 : 2) * copy) +
         (all - runs) * (sends * (in.link.interval() + wire) + copy);
}
picoseconds binomial_form(const form_input& in) { return by_puts(in, rounds_of(in.size), rounds_of(in.size)); }
picoseconds knomial_form(const form_input& in) {
  const std::uint32_t fan_in = radix_of(knomial, in.radix), most = most_children(in.size, fan_in);
  return by_puts(in, most / fan_in, most);
}
picoseconds chain_form(const form_input& in) { return by_puts(in, in.size - 1, 1); }

constexpr variant of_binomial[] = {{.reason = "ceil(log2 n) hops: pays where latency counts"}};
constexpr variant of_knomial[] = {{.radix = 3, .considered = ranks_from<4>, .reason = "half the hops of the binomial tree"},
                                  {.radix = 7, .considered = ranks_from<8>, .reason = "a third of the hops of the binomial tree"}};
constexpr variant of_chain[] = {{.reason = "every rank sends each byte once: pays where the message is long and ranks are few"}};

}  // namespace

constexpr data_layout in_pieces{.blocks = [](const shape&) { return pieces; },
                                .most_bytes = most_piece,
                                .slots = [](const shape&) { return pieces; }};

constinit const algorithm binomial{
    .of = collective::broadcast,
    .name = "binomial",
    .summary = "puts along a binomial tree, in pieces: ceil(log2 n) hops",
    .source = "Thakur et al. 2005",
    .data = in_pieces,
    .variants = of_binomial,
    .words = words,
    .make = make_binomial,
    .form = {binomial_form},
};

constinit const algorithm knomial{
    .of = collective::broadcast,
    .name = "knomial",
    .summary = "puts along a tree with l children a level, in pieces: ceil(log_{l+1} n) hops",
    .source = "Pjesivac-Grbovic et al. 2007 (k-ary and k-nomial trees)",
    .default_radix = 3,
    .least_radix = 1,
    .data = in_pieces,
    .variants = of_knomial,
    .words = words_of_knomial,
    .make = make_knomial,
    .form = {knomial_form},
};

constinit const algorithm chain{
    .of = collective::broadcast,
    .name = "chain",
    .summary = "puts from each rank to the next, in pieces: one send a rank",
    .source = "Pjesivac-Grbovic et al. 2007 (pipelined chain)",
    .data = in_pieces,
    .resources = &binomial,
    .variants = of_chain,
    .words = words,
    .make = make_chain,
    .form = {chain_form},
};

}  // namespace tutti::broadcasts
