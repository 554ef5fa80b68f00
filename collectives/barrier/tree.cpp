// Gather and release along one tree: the gather of Kini 2003, 3.3 (fan-in l, ceil(log_{l+1} n) levels), and its mirror
// image back, for fabrics without multicast. 2(n-1) messages in all, against n*log n of dissemination, and no rank has
// more than O(l log n) partners: for fabrics where messages in flight, not latency, are dear.
//
// Lines: as many as the root has children: l for each level but the last, there ceil(n / (l+1)^(levels-1)) - 1.
// fan_in_tree.h tells which line is whose; each is written by one rank alone, a child or the parent.
//
// Safe (with algorithms.h): a child's line having reached e proves that its whole subtree entered e, since a rank
// signals its parent after its own children. The parent's line having reached e proves that the root had gathered all.
// A child overwrites its line with e+1 only after that release, which its parent sent after it had read the line.
#include "collectives/barrier/algorithms.h"
#include "collectives/barrier/fan_in_tree.h"

namespace tutti::barriers {

std::uint32_t tree_words(const barrier_shape& s) {
  return fan_in_tree(s.size, radix_of(s, tree_default, 1)).children(0);
}

schedule tree(const barrier_shape& s) {
  schedule out;
  const fan_in_tree links(s.size, radix_of(s, tree_default, 1));
  out.words = links.children(0);
  if (s.size < 2) return out;
  const std::uint32_t release = out.words - 1;
  std::vector<std::uint32_t> children;
  links.for_each_child(s.rank, [&](std::uint32_t child, std::uint32_t line) {
    out.wait(child, line);
    children.push_back(child);
  });
  if (s.rank != 0) {
    const auto [parent, line] = links.parent(s.rank);
    out.signal(parent, line);
    out.wait(parent, release);
  }
  while (!children.empty()) {  // the deepest subtree first: it has the longest way to go
    out.signal(children.back(), release);
    children.pop_back();
  }
  return out;
}

}  // namespace tutti::barriers
