// Sleeping until either child has something.
//
// If both have a descriptor, both are armed by it and one epoll descriptor waits for the two: nothing is missed, since
// each child's promise (clause 9: what arrives after arm() makes the descriptor readable) carries over.
//
// Else one of them can be waited for only in its own sleep(): the router sleeps there, for a bounded time, so what
// arrives at the other is seen after at most one nap. Naps grow from 50 us to 1 ms while nothing happens, which bounds
// both the delay and the processor's share of a rank that waits for long. caps().can_sleep is then false.
//
// A sleep is also bounded like that after a refusal: a full queue may empty without anything that wakes, and whoever
// was refused may sleep before the next attempt.
#include <poll.h>

#include <algorithm>
#include <ctime>

#include "core/router/impl.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::nanoseconds shortest_nap = 50us, longest_nap = 1ms;

void wait_readable(int fd, std::chrono::nanoseconds at_most) noexcept {
  at_most = std::clamp<std::chrono::nanoseconds>(at_most, 0ns, 1h);  // waking early is allowed, and time_t is finite
  timespec limit{static_cast<std::time_t>(at_most.count() / 1'000'000'000), at_most.count() % 1'000'000'000};
  pollfd entry{fd, POLLIN, 0};
  ::ppoll(&entry, 1, &limit, nullptr);  // a signal to this process ends it early: allowed
}

}  // namespace

bool router::arm_both() noexcept {
  if (scatters_.settle()) return false;  // they ended within a submit() or flush(): nothing else will tell
  if (owed_count_) return false;  // progress() has a flush to offer, and no event will tell when it is taken
  if (multicast_ && multicast_->owes()) return false;  // likewise a datagram
  const auto by_sleep = [this](transport& child) {
    armed open = child.arm();
    if (!open) return false;
    if (&child == &sleeper()) child_sleep_ = std::move(open);
    return true;
  };
  // A child that is armed by its descriptor and slept beside (not in) still has its say here: false, there is work.
  const auto arm = [&](transport& child) { return child.wait_fd() >= 0 ? child.arm_fd() : by_sleep(child); };
  if (!arm(*node_)) return false;
  if (!arm(*network_)) node_->disarm();
  else armed_ = true;
  return armed_;
}

armed router::arm() noexcept { return armed_if(arm_both()); }

bool router::arm_fd() noexcept { return both_.fd() >= 0 && arm_both(); }

void router::sleep(armed, time_point deadline) noexcept {
  if (!std::exchange(armed_, false)) return;
  const bool by_fd = both_.fd() >= 0;
  if (!by_fd || (two_sided_ && two_sided_->refused()) || refused_) {
    nap_ = std::clamp<std::chrono::nanoseconds>(2 * nap_, shortest_nap, longest_nap);
    deadline = std::min(deadline, now() + nap_);
  }
  if (by_fd) return wait_readable(both_.fd(), deadline - now());
  sleeper().sleep(std::move(child_sleep_), deadline);
}

void router::disarm() noexcept {
  armed_ = false;
  node_->disarm();
  network_->disarm();
}

}  // namespace tutti
