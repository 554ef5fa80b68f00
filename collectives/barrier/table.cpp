// The barrier algorithms: a row each. The chooser (choose.h), the checker and `tutti perf` enumerate it.
#include <array>
#include <utility>

#include "collectives/barrier/algorithms.h"

namespace tutti {
namespace {

using namespace barriers;

// name, summary, source, needs multicast, needs fetch_add, reads node_of, default and least radix, lines, schedule
constexpr barrier_algorithm rows[] = {
    {"dissemination", "ceil(log2 n) rounds, a signal each way to a partner twice as far each time",
     "Mellor-Crummey & Scott 1991, 3.3; RDS, Kini 2003, 3.2", false, false, false, 0, 0,
     dissemination_words, dissemination},
    {"pairwise", "recursive doubling; two steps more unless n is a power of two",
     "RPE, Kini 2003, 3.1; Gupta 2002, 5.1", false, false, false, 0, 0, pairwise_words, pairwise},
    {"nway", "dissemination with k-1 partners a round, ceil(log_k n) rounds",
     "Hoefler et al. 2006 (n-way dissemination); Kini 2003, 3.2", false, false, false, nway_default, 2,
     nway_words, nway},
    {"tree", "gather up a tree with fan-in l, release down the same tree",
     "gather of RGM, Kini 2003, 3.3", false, false, false, tree_default, 1, tree_words, tree},
    {"flat", "a flag of each rank at the master, who releases all",
     "Gupta 2002, 5.2", false, false, false, 0, 0, flat_words, flat},
    {"counter", "all add to one counter, the last arriver releases all",
     "Mellor-Crummey & Scott 1991, 3.1", false, true, false, 0, 0, counter_words, counter},
    {"multicast", "gather up a tree with fan-in l, one multicast releases all",
     "RGM, Kini 2003, 3.3; Birk 2006, 3.2", true, false, false, multicast_default, 1,
     multicast_words, barriers::multicast},
    {"hierarchical", "flat inside each node, another algorithm among the nodes' leaders",
     "Gupta 2002, 5.3", false, false, true, 0, 0, hierarchical_words, hierarchical},
    {"offloaded", "dissemination or another, run by the fabric while the program computes",
     "Buntinas 2001, 2", false, false, false, 0, 0, offloaded_words, barriers::offloaded, true},
};

// The names that Kini 2003 gives.
constexpr std::pair<std::string_view, std::string_view> aliases[] = {
    {"rds", "dissemination"}, {"rpe", "pairwise"}, {"rgm", "multicast"}};

}  // namespace

std::span<const barrier_algorithm> barrier_algorithms() noexcept { return rows; }

const barrier_algorithm* find_barrier(std::string_view name) noexcept {
  for (const auto& [alias, full] : aliases)
    if (name == alias) name = full;
  for (const barrier_algorithm& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace tutti
