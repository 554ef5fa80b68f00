// Barrier algorithms as a table: a file each, a row each. An algorithm is a pure function from a shape to the schedule
// of one rank; nothing here touches a network.
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
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.h"

namespace tutti {

// What the members of a team know about it alike; `rank` alone differs.
struct barrier_shape {
  std::uint32_t rank = 0;                     // team index
  std::uint32_t size = 1;
  std::uint32_t radix = 0;                    // n-way: k; trees: fan-in l; hierarchical: its leaders'; 0: default
  std::span<const std::uint32_t> node_of;     // by team index; empty: every rank on one node
  std::string_view leaders;                   // hierarchical: the algorithm among the nodes' leaders; offloaded: the one
                                              // that is offloaded; empty: default
};

struct barrier_algorithm {
  std::string_view name;       // as in TUTTI_BARRIER
  std::string_view summary;    // one line
  std::string_view source;     // paper and section
  bool needs_multicast;        // runs only where the transport has multicast
  bool needs_fetch_add;        // uses `arrive`
  bool on_nodes;               // reads node_of
  std::uint32_t default_radix; // 0: takes none
  std::uint32_t least_radix;   // smaller ones make no sense
  // Lines of control memory a rank, as above: depends on the shape but not on shape.rank.
  std::uint32_t (*words)(const barrier_shape&);
  schedule (*make)(const barrier_shape&);
  bool offloaded = false;      // the fabric runs it by itself; needs a transport that can
};

std::span<const barrier_algorithm> barrier_algorithms() noexcept;
const barrier_algorithm* find_barrier(std::string_view name) noexcept;  // null: unknown

}  // namespace tutti
