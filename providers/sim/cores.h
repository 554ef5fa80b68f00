// Cores that several ranks share. Rank i of a node has core i modulo the node's cores.
//
// One rank has a core at a time, until it waits. Whoever is due while another has the core goes on when that one waits. A rank
// that waits yields: it looks, and passes its core on to the next one, so a rank that goes on again has first let each of the
// others that wait on its core have a turn of `turn_us`. (This is the same reckoning as the chooser's: a round of waiting costs
// a turn for each other rank of the core.)
#pragma once
#include <cstdint>

namespace tutti::sim {

struct core_parameters {
  std::uint32_t per_node = 0;                 // 0: one for each rank
  double turn_us = 1.6;                       // a look of a rank that waits, with the change of ranks
  bool operator==(const core_parameters&) const = default;
};

}  // namespace tutti::sim
