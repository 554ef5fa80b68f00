// Opening and closing.
#include "providers/verbs/transport.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include "core/base/host.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

capabilities describe(const adapter& a, const link_limits& limits) {
  capabilities c;
  c.max_bytes = std::min<std::uint64_t>(a.port.max_msg_sz, std::uint64_t{1} << 30);
  c.max_inline = limits.inline_bytes;
  c.max_slices = limits.slices;
  c.native_signal = c.native_atomics = c.native_when_added = true;
  c.cpu_atomics_agree = a.limits.atomic_cap == IBV_ATOMIC_GLOB;
  c.can_sleep = true;
  c.cost = a.where.software ? loggp{20, 5, 5, 0.5} : loggp{1.2, 0.2, 0.2, 10};
  return c;
}

}  // namespace

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
  if (p.size > most_ranks) return {errc::unsupported, "verbs serves jobs of up to " + std::to_string(most_ranks) + " ranks"};
  rank_ = p.rank, size_ = p.size, host_ = this_host();
  if (!known(host_)) return unknown_host();
  peers_.resize(size_);
  auto wish = parse_device(p.device);
  if (!wish) return wish.error();
  auto opened = open_adapter(*wish, rank_);
  if (!opened) return opened.error();
  device_ = std::move(*opened);
  if (device_.limits.atomic_cap == IBV_ATOMIC_NONE)
    return {errc::unavailable, device_.where.device + " has no atomics"};

  pd_.reset(ibv_alloc_pd(device_.context.get()));
  if (!pd_) return os_error("a protection domain on " + device_.where.device, errno);
  regions_.open(pd_.get(), device_, wish->relaxed);
  if (status s = open_waiting(); s.failed()) return s;
  sends_.reset(ibv_create_cq(device_.context.get(),
                             std::min(static_cast<int>(total_depth + 2 * queue_depth), device_.limits.max_cqe), nullptr,
                             channel_.get(), 0));
  if (!sends_) return os_error("a completion queue on " + device_.where.device, errno);
  if (status s = in_.open(device_, pd_.get(), channel_.get()); s.failed()) return s;
  if (status s = try_limits(); s.failed()) return s;
  caps_ = describe(device_, limits_);

  scratch_.bytes = 4096;
  scratch_.base = static_cast<std::byte*>(std::aligned_alloc(4096, scratch_.bytes));
  if (!scratch_.base) return {errc::no_resource, "no memory for a page"};
  std::memset(scratch_.base, 0, scratch_.bytes);
  if (status s = regions_.register_memory(scratch_); s.failed()) return s;
  if (status s = bounce_.open(pd_.get(), device_, regions_); s.failed()) return s;
  swaps_ = std::make_unique<swapping[]>(most_swaps);
  for (std::uint16_t i = 0; i < most_swaps; ++i) swaps_[i].next_free = static_cast<std::uint16_t>(i + 1);

  connection_manager::resources at;
  at.device = &device_, at.pd = pd_.get(), at.sends = sends_.get(), at.in = &in_;
  at.limits = limits_, at.rank = rank_, at.size = size_, at.host = host_, at.notify_fd = notify_.get();
  at.key = p.key, at.one_host = p.one_host;
  if (status opened_door = manager_.open(at); opened_door.failed()) return opened_door;

  verbs_multicast::surroundings around;
  around.device = &device_, around.pd = pd_.get(), around.channel = channel_.get();
  around.rank = rank_;
  around.drive = [this] { return progress(); };
  around.health = [this](rank_t r) { return health(r); };
  if (auto groups = verbs_multicast::open(std::move(around))) multicast_ = std::move(*groups);
  return {};
}

status verbs_transport::open_waiting() {
  channel_.reset(ibv_create_comp_channel(device_.context.get()));
  if (!channel_) return os_error("a completion channel on " + device_.where.device, errno);
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  notify_ = unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!notify_ || !sleep_.open() || !sleep_.add(channel_->fd, nullptr) || !sleep_.add(notify_.get(), nullptr))
    return os_error("descriptors for waiting", errno);
  return {};
}

// What an adapter grants depends on all three together, and only making a queue pair tells.
status verbs_transport::try_limits() {
  limits_.depth = std::bit_floor(std::min(queue_depth, static_cast<std::uint32_t>(device_.limits.max_qp_wr)));
  limits_.slices = std::min(most_slices, static_cast<std::uint32_t>(device_.limits.max_sge));
  if (device_.limits.max_sge_rd > 0)
    limits_.slices = std::min(limits_.slices, static_cast<std::uint32_t>(device_.limits.max_sge_rd));
  limits_.inline_bytes = requested_inline;
  for (;;) {
    ibv_qp* trial = create_rc(pd_.get(), sends_.get(), in_, limits_);
    if (trial) {
      ibv_destroy_qp(trial);
      return {};
    }
    const int error = errno;
    if (limits_.inline_bytes > 32) limits_.inline_bytes /= 2;
    else if (limits_.slices > 1) limits_.slices /= 2, limits_.inline_bytes = requested_inline;
    else return os_error("a queue pair on " + device_.where.device, error);
  }
}

verbs_transport::~verbs_transport() {
  if (pd_) say_goodbye();
  multicast_.reset();
  manager_.close();  // and with it all queue pairs
  const status closed{errc::peer_dead, "closed here"};  // so short that it needs no memory
  for (auto& p : peers_)
    if (p) end_backlog(*p, p->alive() ? closed : p->life.end());
  for (peer* p : lines_)
    p->out.retire(p->out.head() - 1, [&](const posted& what) { finish(*p, what, p->alive() ? closed : p->life.end()); });
  bounce_.close();
  regions_.close();
  regions_.deregister(scratch_);
  std::free(scratch_.base);
  in_.close();
}

address_blob verbs_transport::own_address() const noexcept {
  address_blob a;
  a.pid = ::getpid(), a.host = host_;
  std::memcpy(a.gid.data(), device_.where.gid.raw, sizeof a.gid);
  a.probe_address = reinterpret_cast<std::uint64_t>(scratch_.base), a.probe_rkey = scratch_.mr->rkey;
  a.manager_qpn = manager_.qpn(), a.line = manager_.line();
  a.lid = device_.port.lid, a.mtu = static_cast<std::uint8_t>(device_.port.active_mtu);
  a.ethernet = device_.where.ethernet, a.reads = manager_.reads(), a.multicast = multicast_ != nullptr;
  return a;
}

result<std::vector<std::byte>> verbs_transport::address() { return as_blob(own_address()); }

status verbs_transport::connect(shared_blobs addresses, time_point) {
  if (!addresses || addresses->size() != size_)
    return {errc::invalid, "connect() needs the addresses of all " + std::to_string(size_) + " ranks"};
  bool all_multicast = true;
  for (rank_t r = 0; r < size_; ++r) {
    const auto a = blob_as<address_blob>((*addresses)[r]);
    if (!a || a->version != wire_version)
      return {errc::protocol, "rank " + std::to_string(r) + " runs another version of the verbs provider", r};
    all_multicast &= a->multicast != 0;
  }
  if (!all_multicast) multicast_.reset();
  addresses_ = addresses;
  manager_.meet(std::move(addresses));
  return {};
}

address_blob verbs_transport::address_of(rank_t rank) const noexcept { return *blob_as<address_blob>((*addresses_)[rank]); }

bool verbs_transport::reaches(rank_t rank) const noexcept {
  return rank < size_ && addresses_ && (address_of(rank).ethernet != 0) == device_.where.ethernet;
}

}  // namespace tutti::verbs
