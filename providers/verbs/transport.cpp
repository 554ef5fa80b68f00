#include "providers/verbs/transport.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/own_time.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_leave = 500ms;  // a destructor must end though no peer answers

capabilities describe(const adapter& a, const link_limits& limits) {
  capabilities c;
  c.max_bytes = std::min<std::uint64_t>(a.port.max_msg_sz, std::uint64_t{1} << 30);
  c.max_inline = limits.inline_bytes;
  c.max_slices = limits.slices;
  c.native_signal = c.native_atomics = c.native_when_added = true;
  c.cpu_atomics_agree = a.limits.atomic_cap == IBV_ATOMIC_GLOB;
  c.can_sleep = true;
  c.registering = registered_with_an_adapter;
  c.cost = a.where.software ? loggp{20, 5, 5, 0.5} : loggp{1.2, 0.2, 0.2, 10};
  return c;
}

}  // namespace

// --- opening and closing -------------------------------------------------------------------------------------------------

result<std::unique_ptr<transport>> verbs_transport::open(const open_params& p) {
  try {
    std::unique_ptr<verbs_transport> net{new verbs_transport};
    if (status s = net->start(p); s.failed()) return s;
    return std::unique_ptr<transport>{std::move(net)};
  } catch (const std::bad_alloc&) {
    return status{errc::no_resource, "no memory for a verbs transport"};
  }
}

status verbs_transport::start(const open_params& p) {
  if (p.size > most_ranks) return {errc::unsupported, worded("verbs serves jobs of up to ", most_ranks, " ranks")};
  rank_ = p.rank, size_ = p.size;
  if (!known(this_host())) return unknown_host();
  if (status s = end_.open(p.device, rank_, size_, sleep_); s.failed()) return s;
  caps_ = describe(end_.device(), end_.limits());
  if (status s = bounce_.open(end_.pd(), end_.device(), regions_); s.failed()) return s;
  swaps_.open(rank_);
  out_.open(rank_);
  ops_.open(rank_);
  if (status s = packets_.open(size_); s.failed()) return s;
  if (status s = peers_.open(p); s.failed()) return s;

  verbs_multicast::surroundings around;
  around.device = &end_.device(), around.pd = end_.pd(), around.channel = end_.channel();
  around.rank = rank_;
  around.drive = [this] { return progress(); };
  around.health = [this](rank_t r) { return health(r); };
  if (auto groups = verbs_multicast::open(std::move(around))) multicast_ = std::move(*groups);
  return {};
}

verbs_transport::~verbs_transport() {
  if (end_.pd()) say_goodbye();
  multicast_.reset();
  peers_.close();
  packets_.close();
  bounce_.close();
  regions_.close();
  end_.close();
}

// A goodbye is the last request on every queue pair: who gets it has got everything before. A peer that leaves at the same time
// may drop its end before it has acknowledged; but then its own goodbye is here.
void verbs_transport::say_goodbye() noexcept {
  own_time longest{longest_leave, now()};
  disarm();
  while (!peers_.goodbye_said() && !longest.over(now()))
    if (!progress()) ::usleep(20);
  peers_.manager().say_bye();  // for those who were only asked after
}

result<std::vector<std::byte>> verbs_transport::address() {
  const adapter& device = end_.device();
  const connection_manager& manager = peers_.manager();
  address_blob a;
  a.pid = ::getpid(), a.host = this_host();
  std::memcpy(a.gid.data(), device.where.gid.raw, sizeof a.gid);
  a.probe_address = reinterpret_cast<std::uint64_t>(end_.flushed_word()), a.probe_rkey = end_.flushed_rkey();
  a.manager_qpn = manager.qpn(), a.line = manager.line();
  a.lid = device.port.lid, a.mtu = static_cast<std::uint8_t>(device.port.active_mtu);
  a.ethernet = device.where.ethernet, a.reads = manager.reads(), a.multicast = multicast_ != nullptr;
  return as_blob(a);
}

status verbs_transport::connect(shared_blobs addresses, time_point) {
  if (status s = peers_.connect(std::move(addresses)); s.failed()) return s;
  for (rank_t r = 0; r < size_ && multicast_; ++r)
    if (!peers_.address_of(r).multicast) multicast_.reset();
  return {};
}

bool verbs_transport::reaches(rank_t rank) const noexcept {
  return rank < size_ && peers_.is_known() && (peers_.address_of(rank).ethernet != 0) == end_.device().where.ethernet;
}

// --- memory --------------------------------------------------------------------------------------------------------------

result<region_id> verbs_transport::add_unowned(std::span<std::byte> memory) {
  auto added = regions_.add(memory);
  if (added) regions_.hide(*added);
  return added;
}

// Waits until the adapter has let go of the region: until operations of this rank that read or write it have ended. To take
// the registration away under them would put their queue pairs in error, and all else that is in flight there; to leave it would
// let an answer land in memory that is somebody else's by then. That wait is as long as those operations take, and at most a
// second: what has not ended by then is given up with its connection. What peers still do to the region fails there with
// `invalid`.
void verbs_transport::drop(region_id id) noexcept {
  const region* r = regions_.find(id);
  if (!r) return;
  ops_.forget_region(id);
  regions_.hide(id);  // nothing new goes by it
  for (own_time longest{1s, now()}; r->uses && !longest.over(now());) progress();
  if (r->uses) peers_.give_up_all("a region that the operation names was dropped");
  regions_.erase(id);
}

std::byte* verbs_transport::map(segment_id id, rank_t rank) noexcept {
  const target* t = rank == rank_ ? ops_.target_of(id, rank) : nullptr;
  return t ? reinterpret_cast<std::byte*>(t->address) : nullptr;
}

// --- operations ----------------------------------------------------------------------------------------------------------

std::size_t verbs_transport::submit(std::span<const rma_op> ops) noexcept {
  std::size_t taken = 0;
  while (taken < ops.size() && ops_.take(ops[taken])) ++taken;
  // What ended at once, between arm() and sleep(), must end that sleep.
  if (sleep_.armed() && taken) end_.notify();
  return taken;
}

bool verbs_transport::flush(rank_t rank, completion* done) noexcept {
  const bool taken = ops_.flush(rank, done);
  if (sleep_.armed() && taken) end_.notify();
  return taken;
}

// As above: to connect is to hear what the connection manager tells.
bool verbs_transport::two_sided_calls::send(rank_t to, std::span<const std::byte> header,
                                            std::span<const std::byte> payload) noexcept {
  peer* const p = t_.peers_.of(to);
  if (!p) return false;
  if (p->alive() && !p->confirmed && !p->failing)
    if (status s = t_.peers_.want(*p); s.failed()) p->lacks = std::move(s);
  const bool taken = !p->alive() || t_.packets_.send(*p, header, payload);
  if (t_.sleep_.armed()) t_.end_.notify();
  return taken;
}

unsigned verbs_transport::progress() noexcept {
  disarm();
  unsigned events = peers_.poll_sends() + peers_.hear();
  if (multicast_) events += multicast_->progress();
  if (swaps_.any_waits()) swaps_.retry();
  ops_.begin_waiting();
  if (packets_.any_owes()) packets_.post_owed();
  peers_.confirm_all();
  if (out_.draining()) peers_.close_drained();
  return events;
}

status verbs_transport::health(rank_t rank) noexcept {
  peer* p = peers_.of(rank);
  if (!p) return {errc::no_resource, "no memory for a peer", rank};
  if (!p->alive() || rank == rank_) return p->life.end();
  progress();
  return peers_.health(*p);
}

// --- sleep ---------------------------------------------------------------------------------------------------------------

// One descriptor is waited for. It holds the completion channel (this rank's completions, rings, and datagrams), the connection
// manager's notices, and an alarm, which bounds a sleep while peers have yet to confirm that they ring, and where peers on other
// hosts are to be probed, who cannot be watched. What has come for a queue pair of late is begun before: its completion wakes.
bool verbs_transport::arm_all() noexcept {
  if (sleep_.armed()) return true;
  ops_.begin_waiting();
  if (packets_.any_owes()) packets_.post_owed();
  if (!peers_.prepare_sleep() || swaps_.any_waits()) return false;
  end_.arm(multicast_ ? multicast_->cq() : nullptr);
  if (multicast_ && multicast_->progress() != 0) return false;
  if (peers_.poll_sends() + peers_.hear() != 0) return false;
  sleep_.arm();
  return true;
}

bool verbs_transport::arm_fd() noexcept {
  if (!arm_all()) return false;
  sleep_.arm_fd([this] { return peers_.patience(); });
  return true;
}

void verbs_transport::sleep(armed, time_point deadline) noexcept {
  if (sleep_.armed()) sleep_.sleep(std::min<std::chrono::nanoseconds>(deadline - now(), peers_.patience()));
  disarm();
}

}  // namespace tutti::verbs
