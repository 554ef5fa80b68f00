// A link that is no longer called once the program has closed the library's descriptors, as a daemon does that closes all from 3 on.
//
// A vendor's library does not survive that: UCX ends the process by an assertion at its next message, libfabric waits for ever, and
// both would read and write, through their sockets' numbers, whatever the program has opened by these. So each call first looks
// whether two descriptors of the transport's own are what they were, an epoll set and the alarm in it (sleeper::stands()). From the
// first look on that fails, every peer is lost with a text that says what to do, what was under way ends, and nothing is called or
// closed any more: the library's handles stay to the end of the process.
//
// Cost. A look is a system call. Where messages are system calls themselves, one is due after 10 us, which is less than closing
// takes: a rank that closes its sockets and goes on is always found out before the library is. Elsewhere the library meets its
// descriptors only where it connects, sleeps or ends, and each such call looks; besides, one turn in 1024 does.
//
// Another thread that closes descriptors while this one is inside of the library cannot be helped, nor can a program that closes
// a socket of the library's alone.
#pragma once
#include "providers/common/sleeper.h"
#include "providers/messages/link.h"

namespace tutti::messages {

class guarded_link final : public link, private one_sided {
 public:
  guarded_link(std::unique_ptr<link> inner, const sleeper& own) noexcept;
  ~guarded_link() override;

  const link_traits& traits() const noexcept override { return inner_->traits(); }
  status start(messenger&) override;
  result<std::vector<std::byte>> address() override { return inner_->address(); }
  std::uint32_t ip_address() const noexcept override { return inner_->ip_address(); }
  status open(peer&, std::span<const std::byte> address) noexcept override;
  void close(peer&) noexcept override;
  void peer_died(std::span<const std::byte> address) noexcept override { inner_->peer_died(address); }
  sending send(peer&, const message&, const std::byte* payload, std::uint32_t bytes, bool may_keep) noexcept override;
  one_sided* reach() noexcept override { return reach_ ? this : nullptr; }
  unsigned progress() noexcept override { return gone_soon() ? tell_all() : inner_->progress(); }
  offload* offloader() noexcept override { return inner_->offloader(); }
  int fd() const noexcept override { return gone_ ? -1 : inner_->fd(); }
  bool arm() noexcept override { return !gone() && inner_->arm(); }
  void push_out(own_time longest) noexcept override;
  bool settle(own_time longest) noexcept override { return !gone() && inner_->settle(longest); }
  void abandon() noexcept override;
  void let_go() noexcept override;

 private:
  bool alone() const noexcept override { return reach_->alone(); }
  result<void*> register_region(std::span<std::byte>, std::vector<std::byte>& key) override;
  void deregister_region(void* registered) noexcept override;
  void hide(void* registered) noexcept override { reach_->hide(registered); }
  bool lingers() const noexcept override { return reach_->lingers(); }
  void* unlock(peer&, std::span<const std::byte> key) noexcept override;
  void forget(void* unlocked) noexcept override;
  reaching put(frame&, void* unlocked, std::uint64_t offset, const std::byte* from, std::uint32_t bytes, status& why) noexcept override;
  reaching get(frame&, void* unlocked, std::uint64_t offset, std::byte* to, std::uint32_t bytes, status& why) noexcept override;
  void fence(peer&) noexcept override;
  bool in_order(std::uint32_t bytes) const noexcept override { return reach_->in_order(bytes); }
  reaching flush(frame&, void* unlocked) noexcept override;

  bool gone() noexcept { return gone_ || (gone_ = !own_.stands()); }
  bool gone_soon() noexcept;                // looks when that is due
  unsigned tell_all() noexcept;             // peers that are lost with it; events
  bool lost(peer&) noexcept;                // true: it is gone, and the peer suspected

  std::unique_ptr<link> inner_;
  one_sided* reach_ = nullptr;
  messenger* net_ = nullptr;
  const sleeper& own_;
  bool by_sockets_;                         // each message is a system call
  bool gone_ = false;
  std::uint32_t turns_ = 0;
  time_point due_{};
};

}  // namespace tutti::messages
