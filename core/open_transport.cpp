// Which transport a job uses. TUTTI_PROVIDER=name[:device] forces one for every pair of ranks. Else shared memory where
// all ranks share a node, and a router of shared memory and the first network of the registry where they do not.
#include <string>

#include "core/checked_transport.h"
#include "core/job.h"
#include "core/provider.h"
#include "core/router.h"

namespace tutti {

job_options options_from(const config& c) {
  job_options o;
  const auto wait = c.text(knob::wait);
  o.wait = wait == "spin" ? wait_policy::spin : wait == "yield" ? wait_policy::yield
         : wait == "sleep" ? wait_policy::sleep : wait_policy::automatic;
  o.setup_timeout = std::chrono::seconds(c.number(knob::timeout_s));
  o.agreement = "barrier=" + std::string(c.text(knob::barrier)) + " radix=" + std::string(c.text(knob::barrier_radix)) +
                " provider=" + std::string(c.text(knob::provider)) + " check=" + std::string(c.text(knob::check));
  return o;
}

open_params params_from(const config& c, const bootstrap& boot) {
  return {.device = {}, .job_id = boot.job_id(), .rank = boot.rank(), .size = boot.size(),
          .multicast_interface = c.text(knob::multicast_interface),
          .multicast_ttl = static_cast<std::uint32_t>(c.number(knob::multicast_ttl))};
}

namespace {

result<std::unique_ptr<transport>> open_by_config(const config& c, const bootstrap& boot, const layout& where) {
  set_provider_path(std::string(c.text(knob::provider_path)));
  const open_params base = params_from(c, boot);
  auto open = [&](const provider_choice& choice) {
    open_params p = base;
    p.device = choice.device;
    auto t = choice.impl->open(p);
    if (!t) return result<std::unique_ptr<transport>>(t.error().during("provider " + std::string(choice.impl->name)));
    return t;
  };
  if (const auto forced = c.text(knob::provider); !forced.empty() && forced != "auto") {
    auto choice = find_provider(forced);
    if (!choice) return choice.error();
    return open(*choice);
  }
  auto shm = find_provider("shm");
  if (!shm) return shm.error();
  if (where.nodes() == 1) return open(*shm);

  // A network must be the same one in every rank: the first of the registry that is loaded and finds a device.
  std::string why;
  for (const provider_entry& e : providers()) {
    if (e.impl && !e.impl->is_network) continue;
    std::string reason = e.why_not;
    std::vector<std::string> devices;
    if (e.impl) devices = e.impl->probe(reason);
    if (devices.empty()) {
      why += (why.empty() ? "" : "; ") + std::string(e.name) + ": " + reason;
      continue;
    }
    auto network = open({e.impl, devices.front()});
    if (!network) return network;
    auto node = open(*shm);
    if (!node) return node;
    return make_router(std::move(*node), std::move(*network), {boot.rank(), where.node_of[boot.rank()]});
  }
  return status(errc::unavailable, "the job spans " + std::to_string(where.nodes()) +
                                       " nodes but no network provider can run here (" + why + "); see `tutti info`");
}

}  // namespace

result<std::unique_ptr<transport>> open_transport(const config& c, const bootstrap& boot, const layout& where) {
  auto net = open_by_config(c, boot, where);
  if (!net || c.number(knob::check) == 0) return net;
  return make_checked(std::move(*net));
}

}  // namespace tutti
