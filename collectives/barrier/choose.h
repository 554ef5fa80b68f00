// Which barrier a team runs: a pure function of what all its ranks know alike, hence the same answer in each of them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/barrier/barrier.h"
#include "core/base/status.h"
#include "core/transport/transport.h"

namespace tutti {

// A barrier asked for by name: TUTTI_BARRIER, or a user's option.
struct barrier_override {
  std::string name;         // empty: none; a row's name or an alias
  std::uint32_t radix = 0;  // 0: the default
  std::string leaders;      // hierarchical and offloaded only, as for barrier_shape; empty: the default
};

// "name", "name:radix", "hierarchical:leaders" or "hierarchical:leaders:radix", and so "offloaded:pairwise"; "" and "auto" are none. Invalid: names
// the part that is wrong and what is known.
result<barrier_override> parse_barrier_override(std::string_view text);

// Everything here must be agreed at the team's creation: bit for bit equal in all of its ranks.
struct barrier_inputs {
  std::uint32_t ranks = 1;
  std::span<const std::uint32_t> node_of;  // node of each rank, by team index; empty: one node
  bool multicast = false;                  // the transport has it, and the team's ranks can join
  bool held_by_root = false;               // a lost release waits for the root's next call: by name only (core/engine/reliable_multicast.h)
  bool native_atomics = false;             // capabilities::native_atomics
  bool mapped = false;                     // every rank of a node reaches its mates by load and store
  double ranks_per_core = 1;               // on the fullest node; above 1, a waiting rank gives up its core
  loggp network;                           // between nodes
  loggp node;                              // inside a node
  double multicast_us = 0;                 // from the root until all have it; 0: not measured
  barrier_override wanted;
};

struct barrier_candidate {
  const barrier_algorithm* algorithm = nullptr;
  std::uint32_t radix = 0;     // as for barrier_shape
  std::string_view leaders;    // as for barrier_shape; static storage
  double cost_us = 0;          // predicted, all entering at once; below 0: not priced
  bool runnable = true;        // false: something is missing, `why` says what
  std::string why;
};

// All that make sense for such a team, best first, those that cannot run last; never empty and the first one can run.
// With an override that one comes first. Invalid: an override that is no barrier or has parameters that it does not
// take; unsupported: it needs what is missing here; the text says what, and what would run instead.
result<std::vector<barrier_candidate>> choose_barrier(const barrier_inputs&);

// "nway, radix 4": for people.
std::string to_string(const barrier_candidate&);

// The choice as a table of lines: the team, each candidate with its cost and why, the winner first.
result<std::vector<std::string>> explain_barrier(const barrier_inputs&);

}  // namespace tutti
