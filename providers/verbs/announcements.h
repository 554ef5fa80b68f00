// Who is to ring (transport.h, Sleep): a rank that sleeps tells its peers, once for each connection, and knows of each whether
// it has been told and whether it has confirmed, so that all its signals ring.
#pragma once
#include <algorithm>
#include <utility>

#include "providers/verbs/requests.h"

namespace tutti::verbs {

class announcements {
 public:
  explicit announcements(requests& out) noexcept : out_(out) {}

  // A queue pair has come, or was dropped. `told`: the connection manager has said it for me.
  void connected(peer& p, bool told) noexcept {
    p.told = p.sure = told;
    if (!told) ++untold_;
  }
  void dropped(peer& p) noexcept {
    if (p.told && !p.sure) --unsure_;
    if (!p.told) --untold_;
    p.told = p.sure = false;
  }

  // Tells every peer that I sleep now and then, unless it knows; one that may not be connected yet, at the next sleep: what
  // reaches it now would be dropped, and come again only after the retry time.
  void announce(std::span<peer* const> peers) noexcept {
    if (!untold_) return;
    for (peer* p : peers) {
      if (p->told || !p->out.is_open() || !p->confirmed || p->failing || !out_.ring(*p, ring_kind::announce)) continue;
      p->told = true;
      --untold_;
      ++unsure_;
    }
  }
  void heard_confirm(peer& p) noexcept {
    if (p.told && !std::exchange(p.sure, true)) --unsure_;
  }
  bool all_ring() const noexcept { return untold_ == 0 && unsure_ == 0; }
  // How long to sleep, while some do not ring: more with each time.
  std::chrono::nanoseconds next_nap() noexcept {
    constexpr std::chrono::nanoseconds shortest = std::chrono::microseconds{200}, longest = std::chrono::milliseconds{20};
    return nap_ = all_ring() ? std::chrono::nanoseconds{} : std::clamp(2 * nap_, shortest, longest);
  }

  // The peer's turn: signals to it ring from now on, which it is told behind those that did not.
  void heard_announce(peer& p) noexcept {
    p.rings = true;
    if (!std::exchange(p.confirm_owed, true)) ++owed_;
    confirm(p);
  }
  void confirm_all(std::span<peer* const> peers) noexcept {
    if (!owed_) return;
    for (peer* p : peers)
      if (p->confirm_owed) confirm(*p);
  }

 private:
  // Not upon a queue pair that comes later: that is connected with the request known (connection_manager::event::sleeps).
  void confirm(peer& p) noexcept {
    if (p.out.is_open() && !p.failing && !out_.ring(p, ring_kind::confirm)) return;
    p.confirm_owed = false;
    --owed_;
  }

  requests& out_;
  std::uint32_t untold_ = 0;  // peers with a queue pair that were not told
  std::uint32_t unsure_ = 0;  // that were told and have not confirmed
  std::uint32_t owed_ = 0;    // that this rank has to confirm to
  std::chrono::nanoseconds nap_{};
};

}  // namespace tutti::verbs
