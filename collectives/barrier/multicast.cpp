// Gather and multicast (RGM in Kini 2003, 3.3; the synchronisation of Birk 2006, 3.2): the ranks gather along a tree
// with fan-in l, and the root multicasts the epoch: ceil(log_{l+1} n) + 1 hops and no release messages at all.
//
// Lines: those of the gather, as in tree.cpp: l for each level but the last, there ceil(n / (l+1)^(levels-1)) - 1.
//
// Safe (with barriers.h): the gather as in tree.cpp. The datagram carries the epoch and comes from the root alone,
// who sends it after it had gathered everyone. One that is late or repeated carries an earlier epoch, which does not
// reach the one that is awaited. Whoever lost it reads the epoch in the root's
// memory (core/engine/reliable_multicast.h), where it stands until a later one does; and the root cannot pass the gather of e+1
// without the signal that the loser sends only after e, so what was lost is always the last that the root sent.
#include "collectives/barrier/barriers.h"
#include "collectives/fan_in_tree.h"

namespace tutti::barriers {
namespace {

std::uint32_t words(const shape& s) { return fan_in_tree(s.size, radix_of(multicast, s.radix)).children(0); }

schedule make(const shape& s) {
  schedule out;
  const fan_in_tree links(s.size, radix_of(multicast, s.radix));
  out.words = links.children(0);
  if (s.size < 2) return out;
  out.uses_multicast = true;
  links.for_each_child(s.rank, [&](std::uint32_t child, std::uint32_t line) { out.wait(child, line); });
  if (s.rank == 0) {
    out.add(step_kind::multicast, any_peer);
    return out;
  }
  const auto [parent, line] = links.parent(s.rank);
  out.signal(parent, line);
  out.add(step_kind::await_multicast, 0);
  return out;
}

picoseconds chain(const form_input& in) {
  return in.size < 2 ? 0 : gather(in, radix_of(multicast, in.radix)) + in.turn + multicast_cost(in.all, in.link);
}

// Fan-ins as measured in tree.cpp. 7 was Kini's best, and 15 is for who wants one level.
constexpr variant variants[] = {
    {.radix = 3, .considered = ranks_from<3>, .reason = "the release is one multicast, whatever the size (Kini 2003, 6)"},
    {.radix = 7, .considered = ranks_from<5>, .reason = "the release is one multicast; fan-in 7 was the best at 16 ranks (Kini 2003, 6)"},
    {.radix = 15, .considered = ranks_from<9>, .reason = "the release is one multicast; one level up to 16 ranks"},
};

}  // namespace

constinit const algorithm multicast{
    .of = collective::barrier,
    .name = "multicast",
    .alias = "rgm",
    .summary = "gather up a tree with fan-in l, one multicast releases all",
    .source = "RGM, Kini 2003, 3.3; Birk 2006, 3.2",
    .needs = {.multicast = true, .root_calls = true},
    .default_radix = 7,  // the best fan-in Kini measured (6, figure 6)
    .least_radix = 1,
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, up_and_down},
};

}  // namespace tutti::barriers
