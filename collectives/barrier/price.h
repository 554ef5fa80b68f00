// What one barrier costs, in virtual time, all ranks entering at once: LogGP on the schedules themselves. Pure.
#pragma once
#include <cstdint>

#include "collectives/barrier/barrier.h"
#include "collectives/cost.h"

namespace tutti {

// Equal in all ranks of the team.
struct barrier_costs {
  loggp network;               // between nodes
  loggp node;                  // inside a node
  double multicast_us = 0;     // from the root's send until the last rank has it; 0: unknown, one and a half messages
  double turn_us = 0;          // lost by a rank that waits, until it has its core back; 0: a core of its own
  double ranks_per_core = 1;   // of a node; above 1, the messages of its ranks queue for its cores
  bool native_atomics = true;  // false: the counter's owner works for each addition
  bool mapped = false;         // additions inside a node are the CPU's own: one transfer of a cache line
};

// Runs everybody's schedule: o for each message at either end, L between, at least g between two messages that one
// rank sends or takes in; additions to one counter queue up at it. Where ranks share cores, one sees what the others
// did in their last turn, so each round of waiting costs a turn; and no barrier ends before the cores have done the
// work of all messages, however short its longest chain: o at each end and, inside a node, L too, for there is no wire.
// (4 ranks on 2 cores over tcp, us: 8 messages 58, 6 messages 43 to 45, 9 messages 67, whatever their order.) Chain and
// work overlap in part: the price is half way between the longer of the two and their sum.
// Cost: the steps of all ranks, O(n log n) and more. -1: the schedules do not finish.
picoseconds evaluate_barrier(const barrier_algorithm&, barrier_shape, const barrier_costs&);

// The same by a closed form of the critical path, O(size) with node_of and O(log size) without, for sizes at which
// evaluation takes too long. Takes every message for one between nodes if there are several. -1: no form for that row.
picoseconds estimate_barrier(const barrier_algorithm&, const barrier_shape&, const barrier_costs&);

// Evaluation up to this size, beyond it the closed forms: a choice costs a few milliseconds at most.
inline constexpr std::uint32_t evaluated_up_to = 256;
picoseconds price_barrier(const barrier_algorithm&, const barrier_shape&, const barrier_costs&);

// What the cores of a node need for so much work of its ranks; 0 where each has its own.
picoseconds shared_work(picoseconds work, std::uint32_t ranks, double ranks_per_core) noexcept;
picoseconds chain_and_work(picoseconds chain, picoseconds work) noexcept;

// From the root's send until everyone goes on, on this link.
picoseconds multicast_cost(const barrier_costs&, const link_cost&) noexcept;

// How a team lies on its nodes.
struct node_summary {
  std::uint32_t nodes = 1;
  std::uint32_t largest = 1;  // ranks on the fullest node
};
node_summary summarize_nodes(std::uint32_t size, std::span<const std::uint32_t> node_of);

}  // namespace tutti
