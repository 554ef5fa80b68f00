// Broadcast by puts along a tree, in pieces: a rank passes each piece on from its staging memory as soon as it has come,
// and copies it out while the puts are under way. Ranks count from the root here.
//   binomial  rank r sends to r + 2^j for every 2^j > r: ceil(log2 n) hops, and as many sends at the root
//   chain     rank r sends to r + 1: one send each, n - 1 hops, which long messages fill
//
// Words: line p of a rank says that piece p has come; line pieces_a_run + j of a parent, that its child j may be written
// to. A rank signals its parent so at the start of each run, which is when it has left the run before and its staging
// memory is free; no parent puts before. So there is one writer at a time: whoever was parent in an earlier run, with
// another root perhaps, has been waited for in that run, word by word, before this rank let the next one write. A child's
// line has one writer for ever: rank + 2^j is the same rank whatever the root, and the chain's child is the binomial
// tree's first. What a rank puts from its staging memory is complete before it leaves the run.
#include <bit>
#include <vector>

#include "collectives/bcast/bcast.h"
#include "collectives/cost.h"

namespace tutti::bcasts {
namespace {

struct link {
  std::uint32_t rank;  // team index
  std::uint32_t line;  // of the parent, the child's
};

struct links {
  bool root = true;
  link parent{};               // its line there is this rank's
  std::vector<link> children;  // largest subtree first
};

schedule along(const bcast_shape& s, const links& tree) {
  schedule out;
  out.words = tree_words(s.size);
  if (s.size < 2 || s.bytes == 0) return out;
  if (!tree.root) out.signal(tree.parent.rank, bcast_pieces_a_run + tree.parent.line);
  std::uint32_t piece = 0;
  for (std::uint64_t at = 0; at < s.bytes; at += s.piece, ++piece) {
    const std::uint64_t bytes = s.bytes - at < s.piece ? s.bytes - at : s.piece;
    const auto copy = [&](std::uint32_t from, std::uint32_t to) {
      step& c = out.add(step_kind::copy, any_peer);
      c.from = {from, at}, c.to = {to, at}, c.bytes = bytes;
    };
    if (tree.root) copy(bcast_data, bcast_staging);
    else out.wait(tree.parent.rank, piece);
    for (const link& child : tree.children) {
      if (piece == 0) out.wait(child.rank, bcast_pieces_a_run + child.line);
      step& put = out.add(step_kind::put_signal, child.rank, piece);
      put.from = put.to = {bcast_staging, at}, put.bytes = bytes;
    }
    if (!tree.root) copy(bcast_staging, bcast_data);
  }
  if (!tree.children.empty()) out.add(step_kind::complete, any_peer);
  return out;
}

}  // namespace

std::uint32_t tree_words(std::uint32_t size) noexcept { return bcast_pieces_a_run + rounds_of(size); }

schedule binomial(const bcast_shape& s) {
  const std::uint32_t r = (s.rank + s.size - s.root) % s.size;
  const auto absolute = [&](std::uint32_t relative) { return (relative + s.root) % s.size; };
  links tree{.root = r == 0};
  if (r > 0) {
    const auto line = static_cast<std::uint32_t>(std::bit_width(r) - 1);
    tree.parent = {absolute(r - (1u << line)), line};
  }
  for (auto line = static_cast<std::uint32_t>(std::bit_width(r)); std::uint64_t{r} + (std::uint64_t{1} << line) < s.size; ++line)
    tree.children.push_back({absolute(r + (1u << line)), line});
  return along(s, tree);
}

schedule chain(const bcast_shape& s) {
  const std::uint32_t r = (s.rank + s.size - s.root) % s.size;
  links tree{.root = r == 0};
  if (r > 0) tree.parent = {(s.rank + s.size - 1) % s.size, 0};
  if (r + 1 < s.size) tree.children.push_back({(s.rank + 1) % s.size, 0});
  return along(s, tree);
}

}  // namespace tutti::bcasts
