#include "providers/verbs/receiver.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

constexpr std::uint32_t requested_depth = 1024;
constexpr std::uint32_t batch = 64;

}  // namespace

status receiver::open(const adapter& a, ibv_pd* pd, ibv_comp_channel* channel) {
  depth_ = std::min({requested_depth, static_cast<std::uint32_t>(a.limits.max_srq_wr),
                     static_cast<std::uint32_t>(a.limits.max_cqe)});
  cq_ = ibv_create_cq(a.context.get(), static_cast<int>(depth_), nullptr, channel, 0);
  if (!cq_) return os_error("creating the completion queue of receives", errno);
  ibv_srq_init_attr attributes{};
  attributes.attr.max_wr = depth_;
  attributes.attr.max_sge = 1;
  srq_ = ibv_create_srq(pd, &attributes);
  if (!srq_) return os_error("creating the shared receive queue", errno);
  inbox_.reserve(64);
  used_ = depth_;
  refill();
  set_limit();
  return {};
}

void receiver::close() noexcept {
  if (srq_) ibv_destroy_srq(srq_);
  if (cq_) ibv_destroy_cq(cq_);
  srq_ = nullptr, cq_ = nullptr;
}

void receiver::set_limit() noexcept {
  ibv_srq_attr attributes{};
  attributes.srq_limit = depth_ / 2;
  ibv_modify_srq(srq_, &attributes, IBV_SRQ_LIMIT);
}

// Receives have no buffer: an RDMA write with immediate brings its data elsewhere.
void receiver::refill() noexcept {
  std::array<ibv_recv_wr, batch> wrs{};
  while (used_) {
    const std::uint32_t n = std::min(used_, batch);
    for (std::uint32_t i = 0; i < n; ++i) wrs[i].next = i + 1 < n ? &wrs[i + 1] : nullptr;
    ibv_recv_wr* bad = nullptr;
    if (ibv_post_srq_recv(srq_, wrs.data(), &bad) != 0) return;  // the device is gone: its event tells
    used_ -= n;
  }
}

unsigned receiver::drain() noexcept {
  unsigned arrived = 0;
  std::array<ibv_wc, 16> entries;
  for (int n; (n = ibv_poll_cq(cq_, static_cast<int>(entries.size()), entries.data())) > 0;) {
    for (int i = 0; i < n; ++i) {
      const ibv_wc& wc = entries[static_cast<std::size_t>(i)];
      if (wc.status != IBV_WC_SUCCESS) continue;
      ++arrived;
      const std::uint32_t ring = ntohl(wc.imm_data);
      if (kind_of_ring(ring) == ring_kind::bell) continue;
      try {
        inbox_.push_back({origin_of_ring(ring), kind_of_ring(ring)});
      } catch (...) {  // no memory for 8 bytes; a goodbye is then found out by silence
      }
    }
    used_ += static_cast<std::uint32_t>(n);
    if (n < static_cast<int>(entries.size())) break;
  }
  if (used_ >= batch) refill();
  return arrived;
}

unsigned receiver::take(std::vector<item>& out) noexcept {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) return 1;  // the connection manager drains it: look again
  const unsigned arrived = drain() + std::exchange(drained_, 0);
  if (inbox_.empty()) return arrived;
  try {
    out.insert(out.end(), inbox_.begin(), inbox_.end());
    inbox_.clear();
  } catch (...) {  // next time
  }
  return arrived;
}

// The limit first: an adapter tells when the queue falls below it, and need not tell that it has fallen already. What was
// taken before the limit was set has its entry, which is drained here; what is taken later is told.
void receiver::refill_from_event() noexcept {
  const std::lock_guard lock{mutex_};
  set_limit();
  drained_ += drain();
  refill();
}

}  // namespace tutti::verbs
