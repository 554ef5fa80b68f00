// Gather and multicast (RGM in Kini 2003, 3.3; the synchronisation of Birk 2006, 3.2): the ranks gather along a tree
// with fan-in l, and the root multicasts the epoch: ceil(log_{l+1} n) + 1 hops and no release messages at all.
//
// Lines: those of the gather, as in tree.cpp: l for each level but the last, there ceil(n / (l+1)^(levels-1)) - 1.
//
// Safe (with algorithms.h): the gather as in tree.cpp. The datagram carries the epoch and comes from the root alone,
// who sends it after it had gathered everyone. One that is late or repeated carries an earlier epoch, which does not
// reach the one that is awaited. Whoever lost it reads the epoch in the root's
// memory (core/engine/reliable_multicast.h), where it stands until a later one does; and the root cannot pass the gather of e+1
// without the signal that the loser sends only after e, so what was lost is always the last that the root sent.
#include "collectives/barrier/algorithms.h"
#include "collectives/barrier/fan_in_tree.h"

namespace tutti::barriers {

std::uint32_t multicast_words(const barrier_shape& s) {
  return fan_in_tree(s.size, radix_of(s, multicast_default, 1)).children(0);
}

schedule multicast(const barrier_shape& s) {
  schedule out;
  const fan_in_tree links(s.size, radix_of(s, multicast_default, 1));
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

}  // namespace tutti::barriers
