// How a team broadcasts so many bytes: a pure function of what all its ranks know alike, hence the same answer in each.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "collectives/bcast/bcast.h"
#include "core/base/status.h"
#include "core/transport/multicast.h"
#include "core/transport/transport.h"

namespace tutti {

// Equal in all members, bit for bit.
struct bcast_inputs {
  std::uint32_t ranks = 1;
  std::uint64_t bytes = 0;
  std::uint32_t piece = bcast_most_piece;
  bool multicast = false;         // the transport has it, and the team's ranks can join
  std::uint32_t fragment = 0;     // bytes of a datagram
  std::uint32_t window = 1;       // fragments under way at once
  double multicast_us = 0;        // multicast::limits::latency_us
  double multicast_bytes_per_ns = 0;  // multicast::limits::bytes_per_ns
  double ranks_per_core = 1;      // on the fullest node
  loggp link;                     // the dearest between two members
  std::string_view wanted;        // TUTTI_BCAST; empty: chosen
};

// What the rank that asks knows of its transport. Priors and limits may differ from rank to rank: a team agrees on them.
struct bcast_facts {
  std::uint64_t piece = bcast_most_piece;
  std::uint32_t fragment = 0, depth = 0;  // of multicast; 0: there is none
  double multicast_us = 0, multicast_bytes_per_ns = 0;
  loggp link;
};
bcast_facts bcast_facts_of(transport&, bool multicast);
bcast_inputs bcast_inputs_of(const bcast_facts&, std::uint32_t ranks, double ranks_per_core);

struct bcast_candidate {
  const bcast_algorithm* algorithm = nullptr;
  double cost_us = 0;             // predicted, all entering at once
  bool runnable = true;           // false: something is missing, `why` says what
  std::string why;                // in words
};

// All of them, best first, those that cannot run last; never empty and the first one can run. With an override that one
// comes first. Invalid: an override that is none; unsupported: it needs what is missing here.
result<std::vector<bcast_candidate>> choose_bcast(const bcast_inputs&);

// The choice as a table of lines: the team, each candidate with its cost and why, the winner first.
result<std::vector<std::string>> explain_bcast(const bcast_inputs&);

// "" or the error of an override that is no algorithm, naming those that are.
status check_bcast(std::string_view wanted);

}  // namespace tutti
