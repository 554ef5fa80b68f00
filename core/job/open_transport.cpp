// Which transport a job uses. TUTTI_PROVIDER=name[:device] forces one for every pair of ranks, and a+b a router of two:
// a inside each node, b between nodes. Else shared memory where all ranks share a node, and a router of shared memory and
// the network that all agree on (network_choice.h) where they do not. Around it TUTTI_PROGRESS=thread puts the thread that drives those
// that want it, and TUTTI_CHECK=1 the checks.
#include <algorithm>
#include <string>

#include "core/transport/checked_transport.h"
#include "core/transport/driven_transport.h"
#include "core/job/job.h"
#include "core/job/network_choice.h"
#include "core/job/registration_cache.h"
#include "core/transport/provider.h"
#include "core/router/router.h"

namespace tutti {

registrations_kept registrations_from(const config& c) {
  const auto how = c.text(knob::registration_cache);
  return how == "off" ? registrations_kept::off : how == "interpose" ? registrations_kept::interpose : registrations_kept::automatic;
}

job_options options_from(const config& c) {
  job_options o;
  const auto wait = c.text(knob::wait);
  o.wait = wait == "spin" ? wait_policy::spin : wait == "yield" ? wait_policy::yield
         : wait == "sleep" ? wait_policy::sleep : wait_policy::automatic;
  o.registrations = registrations_from(c);
  o.unexpected_bytes = c.number(knob::unexpected_mib) << 20;
  o.registration_bytes = c.number(knob::registration_cache_mib) << 20;
  o.setup_timeout = std::chrono::seconds(c.number(knob::timeout_s));
  o.late.after = std::chrono::seconds(c.number(knob::notice_s));
  for (const knob k : {knob::provider, knob::barrier, knob::barrier_radix, knob::bcast, knob::reduce, knob::allreduce, knob::gather,
                       knob::scatter, knob::allgather, knob::alltoall, knob::alltoallv, knob::reduce_scatter, knob::scan, knob::exscan,
                       knob::reproducible, knob::check, knob::tune, knob::messaging})
    o.agreement.append(o.agreement.empty() ? "" : " ").append(knobs()[static_cast<std::size_t>(k)].name).append("=").append(c.text(k));
  o.messaging = c.text(knob::messaging);
  return o;
}

open_params params_from(const config& c, const bootstrap& boot) {
  return {.device = {}, .job_id = boot.job_id(), .rank = boot.rank(), .size = boot.size(),
          .multicast_interface = c.text(knob::multicast_interface),
          .multicast_ttl = static_cast<std::uint32_t>(c.number(knob::multicast_ttl)),
          .progress_thread = c.text(knob::progress) == "thread"};
}

namespace {

class opener {
 public:
  opener(const config& c, const bootstrap& boot, const layout& where, const siphash_key& key, const notice_fn& notice)
      : params_{params_from(c, boot)}, self_{boot.rank(), where.node_of[boot.rank()]} {
    params_.key = key, params_.one_host = where.nodes() == 1, params_.notice = notice;
    params_.machine_is_parted = where.machine_is_parted;
  }

  // Those of what was opened that a progress thread is to drive.
  std::vector<transport*> to_drive;

  result<std::unique_ptr<transport>> open(const provider_choice& choice) {
    open_params p = params_;
    p.device = choice.device;
    auto t = choice.impl->open(p);
    if (!t) return t.error().during(worded("provider ", choice.impl->name));
    if (p.progress_thread && wants_progress((*t)->caps())) to_drive.push_back(t->get());
    return t;
  }
  result<std::unique_ptr<transport>> open(std::string_view spec) {
    if (const auto plus = spec.find('+'); plus != spec.npos) return open(spec.substr(0, plus), spec.substr(plus + 1));
    auto choice = find_provider(spec);
    if (!choice) return choice.error();
    return open(*choice);
  }
  result<std::unique_ptr<transport>> open(std::string_view node, std::string_view network) {
    auto far = open(network);
    if (!far) return far;
    auto near = open(node);
    if (!near) return near;
    return make_router(std::move(*near), std::move(*far), self_);
  }

 private:
  open_params params_;
  place_in_job self_;
};

// Of a fabric that was asked for by name: whether it reaches ranks on other nodes, if there are any.
status reaches_all(std::string_view fabric, const layout& where) {
  if (where.nodes() == 1) return {};
  const auto plus = fabric.find('+');
  const auto far = find_provider(plus == fabric.npos ? fabric : fabric.substr(plus + 1));
  if (!far) return far.error();
  if (far->impl->is_network && far->device != "shm") return {};
  const std::uint32_t there = static_cast<std::uint32_t>(std::ranges::find(where.node_of, 1u) - where.node_of.begin());
  return {errc::unavailable,
          worded("TUTTI_PROVIDER=", fabric, " reaches the ranks of one node only, and this job has ", where.nodes(), " (ranks 0 and ",
                 there, " are on two): leave it unset, or name a network (ucx:tcp, ofi:tcp)",
                 (where.machine_is_parted ? "; on one machine, ranks are of one node if they share users, groups, the user, pid and IPC "
                                            "namespaces, /dev/shm and a /proc of their own, and are dumpable" : "")), there};
}

// As TUTTI_PROVIDER names it.
result<std::string> fabric_for(const config& c, bootstrap& boot, const layout& where, time_point deadline) {
  if (const auto forced = c.text(knob::provider); !forced.empty() && forced != "auto") {
    if (status s = reaches_all(forced, where); s.failed()) return s;
    return std::string(forced);
  }
  if (where.nodes() == 1) return std::string("shm");
  auto network = agree_on_network(boot, deadline);
  if (!network) return network.error();
  return "shm+" + *network;
}

}  // namespace

result<std::unique_ptr<transport>> open_transport(const config& c, bootstrap& boot, const layout& where,
                                                  const siphash_key& key, const notice_fn& notice, time_point deadline,
                                                  std::string& fabric) {
  set_provider_path(std::string(c.text(knob::provider_path)));
  auto chosen = fabric_for(c, boot, where, deadline);
  if (!chosen) return chosen.error();
  fabric = std::move(*chosen);
  opener to{c, boot, where, key, notice};
  auto net = to.open(std::string_view(fabric));
  if (!net && c.source(knob::provider) != knob_source::standard && fabric == c.text(knob::provider))
    return status{net.error().code(), worded(net.error().text(), " (TUTTI_PROVIDER=", fabric, "); tutti info lists what works here"),
                  net.error().peer(), net.error().native()};
  if (!net) return net;
  if (!to.to_drive.empty()) net = make_driven(std::move(*net), std::move(to.to_drive));
  if (c.number(knob::check) != 0) net = make_checked(std::move(*net));
  return net;
}

}  // namespace tutti
