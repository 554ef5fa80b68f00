// The simulator among the providers: a world of one.
#include "providers/sim/net.h"

namespace tutti {

namespace {

std::vector<std::string> probe(std::string&) { return {""}; }

result<std::unique_ptr<transport>> open(const open_params& p) {
  if (p.size != 1) return status(errc::unsupported, "virtual ranks live in one process: use `tutti sim`");
  auto w = std::make_shared<sim::world>(sim::parameters{});
  auto net = w->open(0);
  if (net.ok()) static_cast<sim::rank_transport&>(**net).keep(std::move(w));
  return net;
}

}  // namespace

const provider sim_provider{"sim", "virtual ranks under a virtual clock, in one process", probe, open};

}  // namespace tutti
