// Hosts that fall silent. When a cable is pulled or a host loses power, no reset ever comes: TCP repeats what was not
// acknowledged for a quarter of an hour, and a rank that only waits sends nothing at all. The libraries leave it at that.
//
// So the transport looks at the connections that its link has: the kernel is asked to probe each that has been idle for
// a second, and one whose peer's host has answered nothing at all for `longest_silence`, though more than once asked, is
// shut down. To the link that is a lost connection like any other. It is the peer's kernel that answers: a process that
// computes for long and reads nothing, even one that is stopped, is not taken for dead. (TCP_USER_TIMEOUT would end
// connections to such a process too, once its window is full.)
//
// Only sockets that the link's descriptor watches are touched, never one of the application's.
#pragma once
#include <chrono>
#include <cstdint>

#include "core/job/bootstrap.h"

namespace tutti::messages {

inline constexpr auto longest_silence = std::chrono::seconds{3};

// Calls f(socket, context) for each TCP socket that this epoll descriptor watches, by itself or through others, as the
// kernel tells it. False where it does not. f must not change what is watched.
bool for_each_connection(int epoll_fd, void (*f)(int socket, void* context), void* context) noexcept;

class silence_watch {
 public:
  // Looks, if the last look was some time ago. Cost then: some microseconds and one for each connection.
  void look(int epoll_fd, time_point now) noexcept {
    if (now < next_) return;
    next_ = now + look_every;
    look_now(epoll_fd);
  }
  std::uint32_t broken() const noexcept { return broken_; }  // connections shut down so far

 private:
  static constexpr auto look_every = std::chrono::milliseconds{250};
  void look_now(int epoll_fd) noexcept;
  time_point next_{};
  std::uint32_t broken_ = 0;
};

}  // namespace tutti::messages
