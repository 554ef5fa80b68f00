// How a rank sleeps upon descriptors (clause 9 of the contract): one for all that may wake it up, among them an alarm, which
// ends a wait on wait_fd() as its own bound ends a sleep().
#pragma once
#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>

#include "core/transport/transport.h"
#include "core/base/epoll_set.h"

namespace tutti {

class sleeper : public epoll_set {
 public:
  bool open() noexcept {  // false, with errno
    if (!epoll_set::open()) return false;
    alarm_ = unique_fd{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
    return opened_ = alarm_ && add(alarm_.get(), nullptr);
  }
  // False: it was opened, and the program has closed these descriptors, and perhaps opened others by their numbers. An alarm that is not in the set
  // cannot be changed there.
  bool stands() const noexcept { return !opened_ || holds(alarm_.get(), nullptr); }
  bool armed() const noexcept { return armed_; }
  bool armed_for_fd() const noexcept { return armed_for_fd_; }

  void arm() noexcept { armed_ = true; }
  // `patience()`: how long to wait at most. Asked when the alarm is set.
  template <class Patience>
  void arm_fd(Patience&& patience) noexcept {
    armed_ = true;
    if (!std::exchange(armed_for_fd_, true)) set_alarm(patience());
  }
  bool disarm() noexcept {  // false: it was not armed
    if (std::exchange(armed_for_fd_, false)) set_alarm({});  // or it would end the next sleep
    return std::exchange(armed_, false);
  }
  // The bound of a sleep that is under way has changed.
  void reset_alarm(std::chrono::nanoseconds in) noexcept {
    if (armed_for_fd_) set_alarm(in);
  }
  // True: something is ready.
  bool sleep(std::chrono::nanoseconds longest) noexcept {
    const timespec room = timespec_of(std::max(longest, std::chrono::nanoseconds{0}));
    pollfd p{fd(), POLLIN, 0};
    return ::ppoll(&p, 1, &room, nullptr) > 0;
  }

 private:
  static timespec timespec_of(std::chrono::nanoseconds t) noexcept {
    return {static_cast<time_t>(t.count() / 1'000'000'000), static_cast<long>(t.count() % 1'000'000'000)};
  }
  void set_alarm(std::chrono::nanoseconds in) noexcept {  // zero: none
    itimerspec at{};
    at.it_value = timespec_of(in);
    ::timerfd_settime(alarm_.get(), 0, &at, nullptr);  // never read: it is set anew by the next arm()
  }

  unique_fd alarm_;
  bool opened_ = false, armed_ = false, armed_for_fd_ = false;
};

}  // namespace tutti
