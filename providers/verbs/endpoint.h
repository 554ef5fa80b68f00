// This rank's end of all its queue pairs: an open port, a protection domain, the queues that the queue pairs share, the
// descriptors that tell of them, and a page of the transport's own.
#pragma once
#include <infiniband/verbs.h>

#include <memory>
#include <string_view>

#include "providers/common/sleeper.h"
#include "providers/verbs/connection_manager.h"
#include "providers/verbs/device.h"
#include "providers/verbs/receiver.h"
#include "providers/verbs/regions.h"

namespace tutti::verbs {

inline constexpr std::uint32_t queue_depth = 128;     // work requests in flight to one peer
inline constexpr std::uint32_t total_depth = 4096;    // and to all
inline constexpr std::uint32_t requested_inline = 256, most_slices = 30;

class endpoint {
 public:
  explicit endpoint(region_table& regions) noexcept : regions_(regions) {}
  ~endpoint() { close(); }
  status open(std::string_view device, rank_t, std::uint32_t ranks, sleeper&);
  void close() noexcept;  // when no queue pair is left

  const adapter& device() const noexcept { return device_; }
  ibv_pd* pd() const noexcept { return pd_.get(); }
  ibv_comp_channel* channel() const noexcept { return channel_.get(); }
  ibv_cq* sends() const noexcept { return sends_.get(); }  // of all RC queue pairs
  receiver& in() noexcept { return in_; }
  const link_limits& limits() const noexcept { return limits_; }
  // Three words: read by peers' flushes, filled by this rank's, filled by what is before a signal that adds.
  std::byte* flushed_word() const noexcept { return scratch_.base; }
  ibv_sge landing() const noexcept { return {reinterpret_cast<std::uint64_t>(scratch_.base + 8), 8, scratch_.mr->lkey}; }
  ibv_sge added_landing() const noexcept { return {reinterpret_cast<std::uint64_t>(scratch_.base + 16), 8, scratch_.words->lkey}; }
  std::uint32_t flushed_rkey() const noexcept { return scratch_.mr->rkey; }

  // The manager's thread, or this one, tells of something that no queue tells of.
  int notify_fd() const noexcept { return notify_.get(); }
  void notify() noexcept;
  void forget_notices() noexcept;
  // The next entry of any of the queues makes the channel's descriptor readable. `multicast`: one more, or null.
  void arm(ibv_cq* multicast) noexcept;

 private:
  struct pd_closer { void operator()(ibv_pd* p) const noexcept { ibv_dealloc_pd(p); } };
  struct cq_closer { void operator()(ibv_cq* c) const noexcept { ibv_destroy_cq(c); } };
  struct channel_closer { void operator()(ibv_comp_channel* c) const noexcept { ibv_destroy_comp_channel(c); } };
  status open_waiting(sleeper&);
  status try_limits();

  region_table& regions_;
  adapter device_;
  std::unique_ptr<ibv_pd, pd_closer> pd_;
  std::unique_ptr<ibv_comp_channel, channel_closer> channel_;
  std::unique_ptr<ibv_cq, cq_closer> sends_;
  receiver in_;
  link_limits limits_;
  region scratch_;
  unique_fd notify_;
  bool sends_armed_ = false, receives_armed_ = false, multicast_armed_ = false;
};

}  // namespace tutti::verbs
