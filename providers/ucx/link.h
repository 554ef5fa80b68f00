// Messages between ranks as UCX's active messages.
//
// Order. UCX keeps the order of eager active messages of an endpoint: they take one lane, and what must wait there waits
// in a queue. Its manual does not promise that; a gap in the numbers would tell.
//
// Deaths. On tcp and shared memory UCX sees the end of a peer's process at once. On adapters across hosts it knows by a
// missing acknowledgement of ud, which a thread of the peer's process sends: after half a minute (UCX_UD_VERBS_TIMEOUT).
// 700 ms were tried, and took living peers on an oversubscribed machine for dead. On one host a pidfd tells first.
//
// What UCX does not survive is kept away from it: quirks.h.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "providers/messages/link.h"
#include "providers/messages/transport.h"
#include "providers/ucx/context.h"

namespace tutti::ucx {

using messages::frame;
using messages::message;
using messages::messenger;
using messages::peer;
using messages::sending;

inline constexpr unsigned am_id = 7;

struct connection {  // what peer::line points to
  ucp_ep_h endpoint = nullptr;
  time_point kept_from{};  // messages may be left to UCX to keep, though the peer was not heard
};
inline ucp_ep_h endpoint_of(const peer& p) noexcept { return static_cast<connection*>(p.line)->endpoint; }

class ucx_link final : public messages::link, private messages::one_sided {
 public:
  static result<std::unique_ptr<link>> open(std::string_view device, bool two_threads);
  ~ucx_link() override;

  const messages::link_traits& traits() const noexcept override { return traits_; }
  status start(messenger&) override;
  result<std::vector<std::byte>> address() override;
  status open(peer&, std::span<const std::byte> address) noexcept override;
  void close(peer&) noexcept override;
  sending send(peer&, const message&, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept override;
  unsigned progress() noexcept override { return ucp_worker_progress(ucx_.worker); }
  int fd() const noexcept override { return fd_; }
  bool arm() noexcept override { return ucp_worker_arm(ucx_.worker) == UCS_OK; }
  one_sided* reach() noexcept override { return reaches_ ? this : nullptr; }
  void push_out(own_time longest) noexcept override;
  bool settle(own_time longest) noexcept override;
  void abandon() noexcept override { ucx_ = {}; }

 private:
  ucx_link() = default;

  // one_sided.cpp
  result<void*> register_region(std::span<std::byte>, std::vector<std::byte>& key) override;
  void deregister_region(void* registered) noexcept override;
  void* unlock(peer&, std::span<const std::byte> key) noexcept override;
  void forget(void* unlocked) noexcept override;
  messages::reaching put(frame&, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                         status& why) noexcept override;
  messages::reaching get(frame&, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes,
                         status& why) noexcept override;
  void fence(peer&) noexcept override;
  messages::reaching flush(frame&, void*) noexcept override;

  worker_handles ucx_;
  messages::link_traits traits_;
  bool hear_first_ = true;  // what may be kept: quirks.h
  bool reaches_ = false;    // memory can be reached by keys
  int fd_ = -1;
  messenger* net_ = nullptr;
  messages::connection_list<connection> connections_;
};

}  // namespace tutti::ucx
