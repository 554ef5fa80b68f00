// What tests ask of the adapters, and where an address leads.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/verbs/fake/world.h"

namespace fake {

world& all() {
  static world w;
  return w;
}

world::~world() {
  std::error_code ignored;
  if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
}

void breach(std::string what) { all().breaches.push_back(std::move(what)); }

adapter* device_named(const std::string& name) {
  for (adapter& d : all().devices)
    if (d.plan.name == name) return &d;
  return nullptr;
}

adapter* device_at(const adapter& from, const ibv_ah_attr& way) {
  const bool by_gid = way.is_global && (!from.plan.infiniband || std::memcmp(way.grh.dgid.raw, from.gid.raw, 8) != 0);
  if (!from.plan.infiniband && !way.is_global) breach("an address on RoCE without a GID");
  for (adapter& d : all().devices) {
    const bool in_subnet = d.plan.subnet == from.plan.subnet && d.plan.infiniband == from.plan.infiniband;
    const bool is_it = by_gid ? std::memcmp(d.gid.raw, way.grh.dgid.raw, 16) == 0
                              : in_subnet && way.dlid >= d.plan.lid && way.dlid < d.plan.lid + (1 << d.plan.lmc);
    if (is_it) return &d;
  }
  return nullptr;
}

void raise_event(opened& c, ibv_event_type type, ibv_qp* q) {
  ibv_async_event event{};
  event.event_type = type, event.element.qp = q;
  c.events.push_back(event);
  bell(c.async_fd);
}

void install(std::vector<adapter_plan> plans) {
  std::unique_lock before{all().mutex};
  auto clocks = std::exchange(all().clocks, {});
  before.unlock();
  clocks.clear();  // they end by themselves
  const guard lock{all().mutex};
  world& w = all();
  for (adapter& d : w.devices)
    if (!d.open.empty()) breach(d.plan.name + " is still open");
  w.devices.clear(), w.pairs.clear(), w.destroyed.clear(), w.group_lids.clear(), w.joined.clear();
  w.lost = 0;
  if (w.folder.empty()) {
    char name[] = "/tmp/fake-adapters-XXXXXX";
    w.folder = ::mkdtemp(name) ? name : "/tmp";
  }
  for (const adapter_plan& p : plans) {
    adapter& d = w.devices.emplace_back();
    d.plan = p;
    const auto place = static_cast<std::uint8_t>(w.devices.size());
    if (p.infiniband) d.gid.raw[0] = 0xfe, d.gid.raw[1] = 0x80, d.gid.raw[7] = p.subnet, d.gid.raw[15] = place;
    else d.gid.raw[10] = d.gid.raw[11] = 0xff, d.gid.raw[12] = 127, d.gid.raw[13] = 77, d.gid.raw[15] = place;
    d.transport_type = IBV_TRANSPORT_IB;
    std::snprintf(d.name, sizeof d.name, "%s", p.name.c_str());
    std::snprintf(d.ibdev_path, sizeof d.ibdev_path, "%s/%s", w.folder.c_str(), p.name.c_str());
    // An adapter in hardware, with the loopback interface for its IPoIB.
    const std::filesystem::path folder{d.ibdev_path};
    std::filesystem::remove_all(folder / "device");
    std::filesystem::create_directories(p.software ? folder : folder / "device/net/lo");
    if (!p.software) std::ofstream{folder / "device/net/lo/dev_port"} << 0;
    std::snprintf(d.dev_path, sizeof d.dev_path, "%s/%s-uverbs", w.folder.c_str(), p.name.c_str());
    std::ofstream{d.dev_path} << 0;
    if (!p.local_cpus.empty()) std::ofstream{folder / "device/local_cpus"} << p.local_cpus << "\n";
  }
}

void hold(const std::string& from, const std::string& to) {
  const guard lock{all().mutex};
  all().pairs[{device_named(from), device_named(to)}].held = true;
}

void release(const std::string& from, const std::string& to, unsigned count) {
  const guard lock{all().mutex};
  pair_state& p = all().pairs[{device_named(from), device_named(to)}];
  if (count == ~0u) p.held = false;
  else p.credit += count;
  run_all();
}

void fail_next(const std::string& from, const std::string& to, ibv_wc_status status, std::uint32_t vendor) {
  const guard lock{all().mutex};
  all().pairs[{device_named(from), device_named(to)}].failures.push_back({status, vendor, false});
}

void fail_executed(const std::string& from, const std::string& to, ibv_wc_status status) {
  const guard lock{all().mutex};
  all().pairs[{device_named(from), device_named(to)}].failures.push_back({status, 0, true});
}

void keep_answers(const std::string& from, const std::string& to, unsigned count) {
  const guard lock{all().mutex};
  all().pairs[{device_named(from), device_named(to)}].answers_kept = count;
}

void hold_datagrams(const std::string& from, const std::string& to, unsigned but) {
  const guard lock{all().mutex};
  pair_state& p = all().pairs[{device_named(from), device_named(to)}];
  p.datagrams_held = true, p.datagrams_let = but;
}

void release_datagrams(const std::string& from, const std::string& to) {
  const guard lock{all().mutex};
  pair_state& p = all().pairs[{device_named(from), device_named(to)}];
  p.datagrams_held = false;
  for (const datagram& d : std::exchange(p.datagrams, {})) arrive(d);
}

void repeat_datagram(const std::string& from, const std::string& to) {
  const guard lock{all().mutex};
  for (const datagram& d : all().pairs[{device_named(from), device_named(to)}].last) arrive(d);
}

void stop(const std::string& name) {
  const guard lock{all().mutex};
  device_named(name)->stopped = true;
}

void go_on(const std::string& name) {
  const guard lock{all().mutex};
  device_named(name)->stopped = false;
  all().went_on.notify_all();
}

bool datagrams_unread(const std::string& to) {
  const guard lock{all().mutex};
  for (const opened* c : device_named(to)->open)
    for (const qp* q : c->qps)
      if (q->qp_type == IBV_QPT_UD && q->receives.size() < q->cap.max_recv_wr) return true;
  return false;
}

void refuse_queue_pairs(const std::string& name, bool refuses) {
  const guard lock{all().mutex};
  device_named(name)->refuses = refuses;
}

unsigned ran_dry(const std::string& name) {
  const guard lock{all().mutex};
  return device_named(name)->dry;
}

unsigned queue_pairs_made(const std::string& name) {
  const guard lock{all().mutex};
  return device_named(name)->made;
}

void before_error(const std::string& name, std::function<void()> call) {
  const guard lock{all().mutex};
  device_named(name)->before_error = std::move(call);
}

void silence(const std::string& name) {
  const guard lock{all().mutex};
  device_named(name)->silent = true;
}

void remove(const std::string& name) {
  const guard lock{all().mutex};
  std::error_code ignored;
  std::filesystem::remove(device_named(name)->dev_path, ignored);
}

void raise(const std::string& name, ibv_event_type type) {
  const guard lock{all().mutex};
  adapter& d = *device_named(name);
  if (type == IBV_EVENT_PORT_ERR) d.plan.state = IBV_PORT_DOWN;
  if (type == IBV_EVENT_PORT_ACTIVE) d.plan.state = IBV_PORT_ACTIVE;
  if (type == IBV_EVENT_LID_CHANGE) ++d.plan.lid;
  if (type == IBV_EVENT_GID_CHANGE) ++d.gid.raw[14];
  for (opened* c : d.open) raise_event(*c, type, nullptr);
}

void lower_port(const std::string& name) {
  const guard lock{all().mutex};
  device_named(name)->plan.state = IBV_PORT_DOWN;
}

bool events_wait(const std::string& name) {
  const guard lock{all().mutex};
  const auto& open = device_named(name)->open;
  return std::any_of(open.begin(), open.end(), [](const opened* c) { return !c->events.empty(); });
}

holdings held_by(const std::string& name) {
  const guard lock{all().mutex};
  holdings h;
  const adapter* d = device_named(name);
  h.registered = d->registered;
  for (const opened* c : d->open) {
    for (const qp* q : c->qps) {
      ++(q->qp_type == IBV_QPT_RC ? h.rc : h.ud);
      h.sends += q->cap.max_send_wr;
      if (!q->srq) h.receives += q->cap.max_recv_wr;
    }
    for (const cq* q : c->cqs) h.completions += static_cast<std::uint64_t>(q->cqe);
    for (const srq* q : c->srqs) ++h.srq, h.receives += q->depth;
  }
  return h;
}

std::vector<execution> executed(const std::string& from, const std::string& to) {
  const guard lock{all().mutex};
  return all().pairs[{device_named(from), device_named(to)}].log;
}

std::uint64_t datagrams_lost() {
  const guard lock{all().mutex};
  return all().lost;
}

std::vector<std::string> breaches() {
  const guard lock{all().mutex};
  return all().breaches;
}

}  // namespace fake
