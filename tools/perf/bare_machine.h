// What no library can go below on this machine: bare loads, stores and yields between two processes.
#pragma once
#include <cstdint>

#include "collectives/algorithm.h"

namespace tutti::tools {

struct bare_machine {
  int cores = 1;               // that this process may use
  double yield_us = 0;         // two processes on one core hand it to each other by sched_yield: one turn
  double flag_us = 0;          // a flag from one core to another; of one core, a turn
};
bare_machine measure_bare_machine();                // some milliseconds. Throws std::runtime_error
double copy_rate(std::uint64_t bytes);              // of one core, bytes a microsecond, by copying so many again and again

// Microseconds of a call among `ranks` on this node: as many turns as ranks share a core, or a flag where each has its own; and
// the bytes that somebody must write, by all cores at once.
double floor_us(const bare_machine&, collective, std::uint32_t ranks, std::uint64_t bytes, double rate);
// How many times `bytes` that is.
double copies_of(collective, std::uint32_t ranks);

}  // namespace tutti::tools
