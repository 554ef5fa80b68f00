// Driving the link, and sleeping.
#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>

#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_sleep_stalled = 1ms;  // no library tells when it has room for what it did not take

constexpr std::uint32_t turns_between_looks = 1024;  // at pidfds, which costs a system call

}  // namespace

unsigned message_transport::progress() noexcept {
  const bool look = armed_fd_ || ++turns_ % turns_between_looks == 0;
  disarm();
  events_ = 0;
  events_ += link_->progress();
  if (ip_) events_ += ip_->progress();
  if (look) {
    silence_.look(link_->fd(), now());
    look_for_deaths(0);
  }
  while (!to_open_.empty()) {
    peer& p = *to_open_.back();
    to_open_.pop_back();
    leaving_ ? part_from(p) : open_endpoint(p);
  }
  if (!stalled_.empty()) pump_stalled();
  if (!suspects_.empty()) judge_suspects();
  if (!to_close_.empty()) close_endpoints();
  if (frames_.busy() == 0 && regions_.holds_dropped()) regions_.release_dropped();
  return events_;
}

// An odd doze word asks peers that store into my memory for a bell; the link's own arming covers all that comes as messages.
bool message_transport::arm(wake_by by) noexcept {
  if (armed_) {
    if (by == wake_by::fd && !std::exchange(armed_fd_, true)) set_alarm(patience());
    return true;
  }
  if (!to_open_.empty() || !to_close_.empty() || !suspects_.empty() || (ip_ && !ip_->arm())) return false;
  const std::atomic_ref<std::uint64_t> doze{*doze_};
  doze.fetch_add(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // against ring()
  if (!link_->arm()) {
    doze.fetch_add(1);
    return false;
  }
  armed_ = true, armed_fd_ = by == wake_by::fd;
  if (armed_fd_) set_alarm(patience());
  return true;
}

std::chrono::nanoseconds message_transport::patience() const noexcept {
  if (woken_) return 1ns;
  if (!stalled_.empty()) return longest_sleep_stalled;
  return open_.empty() ? traits_.longest_sleep_alone : traits_.longest_sleep;
}

// wait_fd() becomes readable then; never read, it is set anew by the next arm().
void message_transport::set_alarm(std::chrono::nanoseconds in) noexcept {
  itimerspec at{};
  at.it_value.tv_nsec = static_cast<long>(in.count());  // 0: none
  ::timerfd_settime(alarm_fd_, 0, &at, nullptr);
}

// For what this rank does itself between arm() and sleep(): no library wakes it up for that.
void message_transport::end_sleep() noexcept {
  woken_ = true;
  if (armed_fd_) set_alarm(patience());
}

void message_transport::disarm() noexcept {
  if (!armed_) return;
  armed_ = false;
  woken_ = false;
  if (std::exchange(armed_fd_, false)) set_alarm(0ns);  // or it would end the next sleep
  std::atomic_ref<std::uint64_t>{*doze_}.fetch_add(1);
}

void message_transport::sleep(time_point deadline) noexcept {
  using std::chrono::nanoseconds;
  if (armed_) {
    const nanoseconds left = std::clamp<nanoseconds>(deadline - now(), 0ns, patience());
    timespec room{};
    room.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
    room.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
    pollfd p{poll_fd_, POLLIN, 0};
    if (::ppoll(&p, 1, &room, nullptr) > 0) look_for_deaths(0);
    silence_.look(link_->fd(), now());
  }
  disarm();
}

}  // namespace tutti::messages
