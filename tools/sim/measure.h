// One barrier algorithm on one simulated machine, measured.
#pragma once
#include <cstdint>
#include <string>

#include "tools/sim/virtual_job.h"

namespace tutti::tools {

struct sim_figures {
  std::string barrier;                 // with its parameters
  double us = 0;                       // virtual time of one barrier
  double messages = 0, datagrams = 0;  // of one barrier
  std::uint64_t queries = 0, repairs = 0; // of all; a second multicast is one repair
  std::uint32_t words = 0;             // of control memory that the algorithm uses, a rank
  std::uint64_t control_bytes = 0;     // the world team's control segment with them, a rank
  double memory_bytes = 0;             // of heap a rank, the simulator's own included; 0: not known
  double wall_s = 0;                   // from making the world until the last barrier
  // Where ranks die:
  std::uint32_t told = 0, unaware = 0; // survivors whose barrier ended with peer_dead naming one that died; others
  double told_us = 0;                  // when the last of them was told
};

// More control words or steps a rank than this, and a world of many ranks does not fit into memory.
inline constexpr std::uint32_t most_words = 1024;

// Errors: those of virtual_job; unsupported, the algorithm's memory grows with the number of ranks and there are more
// than most_words.
result<sim_figures> measure_barrier(const sim::parameters&, const communicator_options&, std::uint64_t epochs);

}  // namespace tutti::tools
