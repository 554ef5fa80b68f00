// Driving the link, and sleeping.
#include <algorithm>

#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_sleep_stalled = 1ms;  // no library tells when it has room for what it did not take

constexpr std::uint32_t turns_between_looks = 1024;  // at pidfds, which costs a system call

}  // namespace

unsigned message_transport::progress() noexcept {
  const bool look = sleep_.armed_for_fd() || ++turns_ % turns_between_looks == 0;
  disarm();
  events_ = 0;
  events_ += link_->progress();
  if (ip_) events_ += ip_->progress();
  if (look) {
    silence_.look(link_->fd(), now());
    look_for_deaths();
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
bool message_transport::arm_all() noexcept {
  if (sleep_.armed()) return true;
  if (!to_open_.empty() || !to_close_.empty() || !suspects_.empty() || (ip_ && !ip_->arm())) return false;
  const std::atomic_ref<std::uint64_t> doze{*doze_};
  doze.fetch_add(1);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // against ring()
  if (!link_->arm()) {
    doze.fetch_add(1);
    return false;
  }
  sleep_.arm();
  return true;
}

bool message_transport::arm_fd() noexcept {
  if (!arm_all()) return false;
  sleep_.arm_fd([this] { return patience(); });
  return true;
}

std::chrono::nanoseconds message_transport::patience() const noexcept {
  if (woken_) return 1ns;
  if (!stalled_.empty()) return longest_sleep_stalled;
  return open_.empty() ? traits_.longest_sleep_alone : traits_.longest_sleep;
}

// For what this rank does itself between arm() and sleep(): no library wakes it up for that.
void message_transport::end_sleep() noexcept {
  woken_ = true;
  sleep_.reset_alarm(patience());
}

void message_transport::disarm() noexcept {
  if (!sleep_.disarm()) return;
  woken_ = false;
  std::atomic_ref<std::uint64_t>{*doze_}.fetch_add(1);
}

void message_transport::sleep(armed, time_point deadline) noexcept {
  if (!sleep_.armed()) return;
  if (sleep_.sleep(std::min<std::chrono::nanoseconds>(deadline - now(), patience()))) look_for_deaths();
  silence_.look(link_->fd(), now());
  disarm();
}

}  // namespace tutti::messages
