// Gather and release along one tree: the gather of Kini 2003, 3.3 (fan-in l, ceil(log_{l+1} n) levels), and its mirror
// image back, for fabrics without multicast. 2(n-1) messages in all, against n*log n of dissemination, and no rank has
// more than O(l log n) partners: for fabrics where messages in flight, not latency, are dear.
//
// Lines: as many as the root has children: l for each level but the last, there ceil(n / (l+1)^(levels-1)) - 1.
// fan_in_tree.h tells which line is whose; each is written by one rank alone, a child or the parent.
//
// Safe (with barriers.h): a child's line having reached e proves that its whole subtree entered e, since a rank
// signals its parent after its own children. The parent's line having reached e proves that the root had gathered all.
// A child overwrites its line with e+1 only after that release, which its parent sent after it had read the line.
#include "collectives/barrier/barriers.h"
#include "collectives/fan_in_tree.h"

namespace tutti::barriers {
namespace {

std::uint32_t words(const shape& s) { return fan_in_tree(s.size, radix_of(tree, s.radix)).children(0); }

schedule make(const shape& s) {
  schedule out;
  const fan_in_tree links(s.size, radix_of(tree, s.radix));
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

picoseconds chain(const form_input& in) { return 2 * gather(in, radix_of(tree, in.radix)); }

// Fan-ins as measured (`tutti perf barrier --fan-in 1..15`; 16 ranks on 2 cores, us, lower quartiles):
//   fan-in                1    2    3    4    5    6    7    8   10   15
//   ucx:tcp  multicast  485  468  465  438  439  461  438  429  437  430
//            tree       448  433  420  416  412  425  422  399  422  406
//   ofi:tcp  multicast  651  589  575  581  568  519  558  584  563  401
//            tree       725  691  672  633  662  660  624  664  686  650
// A level is a time that somebody has to be woken, so few are bad; from 4 on it makes no difference that can be told from
// chance. Trees start at 3, since their parents also send that many, one after the other.
constexpr variant variants[] = {
    {.radix = 3, .considered = ranks_from<5>, .reason = "2(n-1) messages in all: pays where the fabric is the bottleneck"},
    {.radix = 7, .considered = ranks_from<9>, .reason = "as a tree of 3 with fewer levels and busier parents"},
};

}  // namespace

constinit const algorithm tree{
    .of = collective::barrier,
    .name = "tree",
    .summary = "gather up a tree with fan-in l, release down the same tree",
    .source = "gather of RGM, Kini 2003, 3.3",
    .default_radix = 3,
    .least_radix = 1,
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, up_and_down},
};

}  // namespace tutti::barriers
