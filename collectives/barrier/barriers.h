// What the files of the barriers share.
//
// Why every one of them is safe, once for all; each file adds what is its own:
//  * A word holds the number of the last epoch its writer announced there. It is written by one rank only (counter.cpp
//    is the exception and says why), signals of one origin to one word take effect in order (core/transport/transport.h, clause
//    5), and a rank runs its epochs in order, so a word only ever advances.
//  * A stale word cannot release a barrier early: whatever stood there before this epoch's signal is an earlier epoch,
//    which has not reached this one.
//  * A fast peer cannot make a wait miss: a word that already shows epoch e+1 has reached e, and it says the truth,
//    since its writer announced e before. So the next epoch may overwrite what a slow peer has not looked at yet, and
//    no second set of words, no reset and no acknowledgement is needed.
//  * The comparison through the wrap of 2^64 is sound because no word is ever far from its target: a rank leaves epoch
//    e only after all have entered it, hence no rank is more than one epoch ahead of any other, and a word differs from
//    the epoch that is waited for by one at most.
//
// Control memory. A barrier owns lines of 64 bytes in each rank of its team, one word in each, which is set by one rank
// alone (the counter excepted): two writers in a cache line would take it from each other at every signal. How many
// lines, for n ranks, radix k, fan-in l, n > 1:
//
//   dissemination, pairwise   ceil(log2 n): one a round
//   nway                      one a message: sum over the rounds m = 0 .. ceil(log_k n) - 1 of
//                             min(k-1, floor((n-1) / k^m)), which is at most (k-1) * ceil(log_k n)
//   tree, multicast           one a child of the root: the sum of nway for k = l+1, at most l * ceil(log_{l+1} n)
//   flat                      n - 1
//   counter                   2
//   hierarchical              m - 1 for at most m ranks on a node, and those of the leaders' algorithm for as many ranks
//                             as there are nodes
//   offloaded                 those of the algorithm that is offloaded
//
// and one that a rank sets itself, where the answer to its addition lands (core/engine/executor.h).
//
// A tree could do with l lines at any size if the root gathered every level in the same ones. It does not: children of
// different levels come in any order, and a line that either of two sets to the same epoch does not tell which has come.
// They would have to be let in level by level, a message down the tree and a hop more for each. So a line is one child's.
// At 10,000 ranks that makes 20 lines, 1.25 KiB, with fan-in 3, and 30 with fan-in 7; dissemination has 14.
#pragma once
#include "collectives/price.h"

namespace tutti::barriers {

// Those that another file names, or functions of their own.
extern const algorithm dissemination, nway, tree, multicast;

// Messages of all ranks where each but the root sends one up and is sent one.
inline std::int64_t up_and_down(const form_input& in) noexcept { return 2 * (std::int64_t{in.size} - 1); }

inline bool on_one_node(const placement& p) { return p.nodes == 1; }

}  // namespace tutti::barriers
