// The simulator among the providers: a world of one, or the world that started this process as a rank of its.
#include "providers/sim/net.h"
#include "providers/sim/remote.h"

namespace tutti {

namespace {

std::vector<std::string> probe(std::string&) { return {""}; }

result<std::unique_ptr<transport>> open(const open_params& p) {
  if (simulated::line* const line = simulated::line::of_process(); line && line->size() == p.size && line->rank() == p.rank) return sim::open_remote(*line);
  if (p.size != 1) return status(errc::unsupported, "virtual ranks live in a world of their own: start the program by `tutti sim`");
  auto w = std::make_shared<sim::world>(sim::parameters{});
  auto net = w->open(0);
  if (net.ok()) static_cast<sim::rank_transport&>(**net).keep(std::move(w));
  return net;
}

// Its nodes are virtual ones, and no job of others may take it unasked.
std::vector<network_device> between_nodes(bool, std::string&) { return {}; }

}  // namespace

const provider sim_provider{.name = "sim",
                            .summary = "virtual ranks under a virtual clock, in one process",
                            .probe = probe,
                            .open = open,
                            .is_network = true,
                            .between_nodes = between_nodes};

}  // namespace tutti
