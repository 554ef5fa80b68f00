// What one run of an algorithm costs, in virtual time, all ranks entering at once: LogGP on the schedules themselves. Pure.
#pragma once
#include <cstdint>

#include "collectives/algorithm.h"

namespace tutti {

// Runs everybody's schedule: o for each message at its sender, and at its target where that works for it, L between, at least g
// between two messages that one adapter sends or takes in; additions to one counter queue up at it; bytes leave at the link's
// rate, and copies and reductions are made at the rates of a core.
// Where ranks share cores, a rank sees what the others did in their last turn, so each round of waiting costs a turn; and no run
// ends before the cores have done the work of all messages, however short its longest chain: o at each end and, inside a node, L
// and the bytes too, for there is no wire. (4 ranks on 2 cores over tcp, us: 8 messages 58, 6 messages 43 to 45, 9 messages 67,
// whatever their order.) Chain and work overlap in part: the price is half way between the longer of the two and their sum.
// `runs`: so many, each rank beginning the next as soon as it has left the one before. With shape::first_set, the first run alone is of
// the first set.
// Cost: O(m log m) for m messages of all ranks. -1: the schedules do not finish.
picoseconds evaluate(const algorithm&, shape, const costs&, const partition& = {}, std::uint32_t runs = 1);

// The same by the row's closed form of the critical path, O(size) with node_of and O(log size) without, for sizes at which
// evaluation takes too long, and for what has no schedule. -1: the row has none. Here and in price(), data.piece is the most
// that a block may have.
picoseconds estimate(const algorithm&, const shape&, const costs&, const partition& = {});

// What a call costs in the midst of others like it, as a program makes them, until the last rank has left it. A rank that has
// finished goes on to the next call, so calls overlap: a broadcast's root is ahead by as much as flow control allows, and a chain
// of ranks that share cores takes no longer than a tree. The time of one call alone weighs a little as well, one part in
// alone_counts, lest algorithms of n - 1 hops win where they overlap perfectly.
// Evaluation up to this size, beyond it the closed forms: a choice costs a few milliseconds at most. More bytes than a run
// takes are several runs. `alone`: what it costs where nothing overlaps with it.
inline constexpr std::uint32_t evaluated_up_to = 256;
inline constexpr int alone_counts = 32;
picoseconds price(const algorithm&, const shape&, const costs&, const partition& = {}, bool alone = false);

// A hop in which each rank sends to `n` and then takes in `n`; for closed forms.
inline picoseconds hop(const form_input& s, std::uint32_t n) noexcept {
  return s.turn + s.link.message() + (n - 1) * s.link.interval();
}

// From the root's send until everyone goes on, on this link.
picoseconds multicast_cost(const costs&, const link_cost&) noexcept;

// How a team lies on its nodes.
struct node_summary {
  std::uint32_t nodes = 1;
  std::uint32_t largest = 1;  // ranks on the fullest node
};
node_summary summarize_nodes(std::uint32_t size, std::span<const std::uint32_t> node_of);

// What the cores of a node need for so much work of its ranks; 0 where each has its own.
picoseconds shared_work(picoseconds work, std::uint32_t ranks, double ranks_per_core) noexcept;
picoseconds chain_and_work(picoseconds chain, picoseconds work) noexcept;

}  // namespace tutti
