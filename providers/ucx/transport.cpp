// Opening and closing.
#include "providers/ucx/transport.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "providers/ucx/callbacks.h"

namespace tutti::ucx {
namespace {

capabilities describe(bool only_this_host) {
  capabilities c;
  c.max_bytes = std::uint64_t{1} << 30;
  c.max_inline = max_inline;
  c.max_slices = max_slices;
  c.any_local_memory = true;
  // Memory that peers can map does better than these, but what the caller allocated itself does not.
  c.native_signal = false;
  c.native_atomics = false;
  c.target_must_progress = true;
  c.cpu_atomics_agree = true;
  c.can_sleep = true;
  c.detects_death = true;
  c.cost = only_this_host ? loggp{0.2, 0.05, 0.05, 10} : loggp{4, 1, 1, 4};
  return c;
}

}  // namespace

result<std::unique_ptr<transport>> ucx_transport::open(const open_params& p) {
  try {
    std::unique_ptr<ucx_transport> net{new ucx_transport};
    if (status s = net->start(p); !s) return s;
    return std::unique_ptr<transport>{std::move(net)};
  } catch (const std::bad_alloc&) {
    return status{errc::no_resource, "no memory for a UCX transport"};
  }
}

status ucx_transport::start(const open_params& p) {
  rank_ = p.rank, size_ = p.size, host_ = this_host();
  only_this_host_ = p.device == "shm";
  shared_memory_ = p.device != "tcp";
  hear_first_ = p.device != "rc";  // its adapters may not take a header at once, and are connected by UCX beforehand
  // Measured: tcp sends large pieces without a copy; shared memory copies through cells of 8 KiB anyhow.
  piece_bytes_ = only_this_host_ ? 8000 : 60000;
  caps_ = describe(only_this_host_);
  peers_.resize(size_);

  frames_ = std::make_unique<frame[]>(pool_frames);
  small_ = std::make_unique<std::byte[]>(std::size_t{pool_frames} * max_inline);
  for (std::uint32_t i = pool_frames; i-- > 0;) {
    frames_[i].index = i;
    frames_[i].small = small_.get() + std::size_t{i} * max_inline;
    frames_[i].home = &free_;
    frames_[i].next = free_;
    free_ = &frames_[i];
  }

  auto opened = open_worker(p.device);
  if (!opened) return opened.error();
  ucx_ = *opened;

  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (const auto e = ucp_worker_query(ucx_.worker, &attributes); e != UCS_OK)
    return vendor_error(e, "ucp_worker_query");
  if (attributes.max_am_header < sizeof(message))
    return {errc::unsupported, "UCX's active messages carry headers of " + std::to_string(attributes.max_am_header) +
                                   " bytes, " + std::to_string(sizeof(message)) + " are needed"};
  if (const auto e = callbacks::install(ucx_.worker, *this); e != UCS_OK)
    return vendor_error(e, "ucp_worker_set_am_recv_handler");

  if (const auto e = ucp_worker_get_efd(ucx_.worker, &worker_fd_); e != UCS_OK)
    return vendor_error(e, "ucp_worker_get_efd");
  poll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  alarm_fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (poll_fd_ < 0 || alarm_fd_ < 0 || epoll_ctl(poll_fd_, EPOLL_CTL_ADD, worker_fd_, &event) != 0 ||
      epoll_ctl(poll_fd_, EPOLL_CTL_ADD, alarm_fd_, &event) != 0)
    return {errc::no_resource, "no file descriptor for waiting", no_rank, errno};

  doze_ = &doze_alone_;
  if (!shared_memory_) return {};
  std::span<std::byte> word;
  auto region = allocate(64, word);
  if (!region) return region.error();
  doze_region_ = *region, has_doze_region_ = true;
  doze_ = reinterpret_cast<std::uint64_t*>(word.data());
  return {};
}

ucx_transport::~ucx_transport() {
  const bool settled = !ucx_.worker || say_goodbye();
  for (segment& s : segments_)
    for (member& m : s.views) release(m);
  for (auto& p : peers_) {
    if (!p) continue;
    unmap(p->doze_page);
    if (p->pidfd >= 0) ::close(p->pidfd);
  }
  for (region& r : regions_)
    if (r.base) bury_memory(r);
  for (region& r : graveyard_) bury_memory(r);
  // Better to lose a worker's memory and descriptors, once a peer hangs in the middle of connecting, than the process.
  if (settled) close_worker(ucx_);
  for (const int fd : {poll_fd_, alarm_fd_})
    if (fd >= 0) ::close(fd);
}

}  // namespace tutti::ucx
