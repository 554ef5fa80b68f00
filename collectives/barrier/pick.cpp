#include "collectives/barrier/pick.h"

#include "collectives/communicator.h"

namespace tutti {

result<picked_barrier> pick_barrier(job& j, const rank_map& members, const communicator_options& o,
                                    std::uint32_t most_lines) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < members.size(); ++i) nodes.push_back(j.where().node_of[members[i]]);
  const barrier_shape shape{.size = members.size(), .radix = o.radix, .node_of = nodes};
  std::string_view name = o.barrier;
  if (name.empty()) name = j.ranks_per_core() > 1 ? "counter" : "dissemination";
  const barrier_algorithm* a = find_barrier(name);
  if (!a) return status(errc::invalid, "there is no barrier algorithm \"" + std::string(name) + "\"");
  const auto lines = team_barrier::lines_for(*a, shape);
  if (lines > most_lines) return status(errc::unsupported, "not enough control lines");
  return picked_barrier{a, o.radix, lines};
}

}  // namespace tutti
