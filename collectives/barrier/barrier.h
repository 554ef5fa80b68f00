// Barrier algorithms as a table: a file each, a row each. An algorithm is a pure function from a shape to the schedule
// of one rank; nothing here touches a network.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/schedule.h"

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
  // Lines of control memory a rank: depends on the shape but not on shape.rank.
  std::uint32_t (*words)(const barrier_shape&);
  schedule (*make)(const barrier_shape&);
  bool offloaded = false;      // the fabric runs it by itself; needs a transport that can
};

std::span<const barrier_algorithm> barrier_algorithms() noexcept;
const barrier_algorithm* find_barrier(std::string_view name) noexcept;  // null: unknown

}  // namespace tutti
