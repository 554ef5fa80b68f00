#include "providers/verbs/endpoint.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include "providers/verbs/error.h"

namespace tutti::verbs {

status endpoint::open(std::string_view device, rank_t rank, std::uint32_t ranks, sleeper& sleep) {
  auto wanted = parse_device(device);
  if (!wanted) return wanted.error();
  auto opened = open_adapter(*wanted, rank);
  if (!opened) return opened.error();
  device_ = std::move(*opened);
  if (device_.limits.atomic_cap == IBV_ATOMIC_NONE) return {errc::unavailable, worded(device_.where.device, " has no atomics")};

  pd_.reset(ibv_alloc_pd(device_.context.get()));
  if (!pd_) return os_error(worded("a protection domain on ", device_.where.device), errno);
  regions_.open(pd_.get(), device_, wanted->relaxed);
  if (status s = open_waiting(sleep); s.failed()) return s;
  sends_.reset(ibv_create_cq(device_.context.get(),
                             std::min(static_cast<int>(total_depth + 2 * queue_depth), device_.limits.max_cqe), nullptr,
                             channel_.get(), 0));
  if (!sends_) return os_error(worded("a completion queue on ", device_.where.device), errno);
  if (status s = in_.open(device_, pd_.get(), channel_.get(), ranks); s.failed()) return s;
  if (status s = try_limits(); s.failed()) return s;

  scratch_.bytes = 4096;
  scratch_.base = static_cast<std::byte*>(std::aligned_alloc(4096, scratch_.bytes));
  if (!scratch_.base) return {errc::no_resource, "no memory for a page"};
  std::memset(scratch_.base, 0, scratch_.bytes);
  return regions_.register_memory(scratch_);
}

status endpoint::open_waiting(sleeper& sleep) {
  channel_.reset(ibv_create_comp_channel(device_.context.get()));
  if (!channel_) return os_error(worded("a completion channel on ", device_.where.device), errno);
  ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK);
  notify_ = unique_fd{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!notify_ || !sleep.open() || !sleep.add(channel_->fd, nullptr) || !sleep.add(notify_.get(), nullptr))
    return os_error("descriptors for waiting", errno);
  return {};
}

// What an adapter grants depends on all three together, and only making a queue pair tells.
status endpoint::try_limits() {
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
    else return os_error(worded("a queue pair on ", device_.where.device), error);
  }
}

void endpoint::close() noexcept {
  regions_.deregister(scratch_);
  std::free(std::exchange(scratch_.base, nullptr));
  in_.close();
}

void endpoint::notify() noexcept { ::eventfd_write(notify_.get(), 1); }

void endpoint::forget_notices() noexcept {
  eventfd_t notified;
  ::eventfd_read(notify_.get(), &notified);
}

void endpoint::arm(ibv_cq* multicast) noexcept {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) {
    (cq == sends_.get() ? sends_armed_ : cq == in_.cq() ? receives_armed_ : multicast_armed_) = false;
    ibv_ack_cq_events(cq, 1);
  }
  if (!std::exchange(sends_armed_, true)) ibv_req_notify_cq(sends_.get(), 0);
  if (!std::exchange(receives_armed_, true)) ibv_req_notify_cq(in_.cq(), 1);
  if (multicast && !std::exchange(multicast_armed_, true)) ibv_req_notify_cq(multicast, 1);
}

}  // namespace tutti::verbs
