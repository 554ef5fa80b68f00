// Flat tree (Gupta 2002, 5.2): every rank sets a flag of its own at the master, rank 0; the master waits for all of
// them and releases each. Two hops whatever n is, and the master does n-1 of everything: for the ranks of one node.
//
// Lines: n-1. Line i-1 of the master is rank i's flag, so flags share no cache line; the release is line 0 of every
// other rank. A rank's control segment is n-1 lines long in all ranks though the master alone uses more than one:
// 4 KiB a rank at 64 ranks. Beyond that the tree or the counter, with 2 lines, are better anyway.
//
// Safe (with barriers.h): the master releases e after every flag has reached e. A rank sets its flag to e+1 after it
// saw the release of e, which the master sent after it had read that flag.
#include "collectives/barrier/barriers.h"

namespace tutti::barriers {
namespace {

std::uint32_t words(const shape& s) { return s.size - 1; }

schedule make(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.rank != 0) {
    out.signal(0, s.rank - 1);
    out.wait(0, 0);
    return out;
  }
  for (std::uint32_t peer = 1; peer < s.size; ++peer) out.wait(peer, peer - 1);
  for (std::uint32_t peer = 1; peer < s.size; ++peer) out.signal(peer, 0);
  return out;
}

picoseconds chain(const form_input& in) { return in.size > 1 ? 2 * hop(in, in.size - 1) : 0; }

constexpr variant variants[] = {
    {.considered = on_one_node, .reason = "two hops through the master: for few ranks on one node (Gupta 2002, 5.2)"}};

}  // namespace

extern const algorithm flat;
constinit const algorithm flat{
    .of = collective::barrier,
    .name = "flat",
    .summary = "a flag of each rank at the master, who releases all",
    .source = "Gupta 2002, 5.2",
    .variants = variants,
    .words = words,
    .make = make,
    .form = {chain, up_and_down},
};

}  // namespace tutti::barriers
