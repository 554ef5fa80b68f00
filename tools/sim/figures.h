// What a simulation measured.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "providers/sim/sim.h"

namespace tutti::tools {

// Of samples, us of virtual time; a percentile is the sample of that rank (nearest rank, no interpolation).
struct spread {
  double mean = 0, least = 0, p25 = 0, p50 = 0, p75 = 0, p90 = 0, p99 = 0, most = 0;
  std::uint64_t samples = 0;
};
spread spread_of(std::vector<float>& samples);  // which it reorders

// One way of doing one thing on one machine.
struct sim_figures {
  std::string of;                      // "barrier", another collective, or "put uniform"
  std::string way;                     // the algorithm, with its parameters
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;             // of a call's data (or of a block for each rank), or of a put
  std::uint64_t calls = 0;             // one after the other, of each rank
  double us = 0;                       // virtual time of one, until the last rank has left the last one
  double first_us = 0;                 // of the first one, with connections and whatever else it sets up; 0: not told apart
  spread each;                         // by rank and call: from entering until leaving
  double messages = 0, payload = 0, datagrams = 0;  // of one call, all ranks; payload in bytes
  std::optional<sim::link_use> busiest;
  double lasted_us = 0;                // what `busiest` was busy in
  std::uint64_t trace = 0;             // of everything that happened: equal runs have the same
  double wall_s = 0;                   // from making the world until the end
  // Of barriers:
  std::uint64_t queries = 0, repairs = 0; // of all; a second multicast is one repair
  std::uint32_t words = 0;             // of control memory that the algorithm uses, a rank
  std::uint64_t control_bytes = 0;     // the world team's control segment with them, a rank
  double memory_bytes = 0;             // of heap a rank, the simulator's own included; 0: not known
  // Where ranks die:
  std::uint32_t told = 0, unaware = 0; // survivors whose barrier ended with peer_dead naming one that died; others
  double told_us = 0;                  // when the last of them was told
};

// Called now and then with the part that is done, 0 to 1; may be empty.
using progress_fn = std::function<void(double)>;

inline double in_us(time_point t) { return static_cast<double>(t.time_since_epoch().count()) / 1000.0; }

}  // namespace tutti::tools
