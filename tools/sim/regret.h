// The regret of the choice on the simulated fabric, where the truth is exact: the virtual time of what a job chooses over that of
// the best candidate.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "collectives/algorithm.h"
#include "collectives/tuning/table.h"
#include "providers/sim/sim.h"

namespace tutti::tools {

struct sim_choice {
  collective of = collective::barrier;
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  struct candidate_time {
    std::string name;
    double us = 0, price_us = 0;       // of a call: virtual time, and what the chooser expects; below 0: not priced
  };
  std::vector<candidate_time> all;     // best price first: the first one is chosen
  const candidate_time& chosen() const { return all.front(); }
  const candidate_time& best() const;
  const candidate_time& of_candidate(std::string_view name) const;  // that is one
  double regret() const { return best().us > 0 ? chosen().us / best().us : 1; }
};

// What the chooser has to be told of the simulated fabric beyond what its transports say: how fast virtual ranks copy and add, if these
// take time at all, and what their turns take.
tuning::table known_of_the_simulator(const sim::parameters&);

// Every candidate at each size; the chooser knows the machine. Errors: those of the world and of the ranks.
result<std::vector<sim_choice>> measure_choices(const sim::parameters&, collective, std::span<const std::uint64_t> sizes);

// A constant that the chooser takes for `factor` times what it is.
struct misjudged {
  std::string_view constant;           // as a tuning table names it
  double value = 0, factor = 1;
};
std::vector<misjudged> each_misjudged(const sim::parameters&, double factor);  // every constant that the machine has, too large and too small

// By size: the regret of what is chosen by that, at once and with TUTTI_TUNE=online, after some hundred calls in which trials are not rare
// but half of all.
struct misjudged_choice {
  double at_once = 1, online = 1;
};
result<std::vector<misjudged_choice>> measure_misjudged(const sim::parameters&, const misjudged&, std::span<const sim_choice> truth);

}  // namespace tutti::tools
