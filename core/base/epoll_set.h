// Descriptors, and one that is readable when any of them is ready.
#pragma once
#include <sys/epoll.h>

#include <cstdint>

#include "core/base/unique_fd.h"

namespace tutti {

class epoll_set {
 public:
  bool open() noexcept {  // false, with errno
    all_ = unique_fd{::epoll_create1(EPOLL_CLOEXEC)};
    return static_cast<bool>(all_);
  }
  void close() noexcept { all_.close(); }
  int fd() const noexcept { return all_.get(); }  // -1: not open
  bool add(int fd, void* what, std::uint32_t events = EPOLLIN) noexcept {  // false, with errno
    return control(EPOLL_CTL_ADD, fd, what, events);
  }
  // The descriptor is in the set as it was added: neither the set nor the descriptor was closed meanwhile.
  bool holds(int fd, void* what, std::uint32_t events = EPOLLIN) const noexcept { return control(EPOLL_CTL_MOD, fd, what, events); }
  // Closing a descriptor does the same, but not while a child process has it as well.
  void remove(int fd) noexcept {
    if (fd >= 0) ::epoll_ctl(all_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
  // f(what) of up to 16 that are ready, waiting for the first for so long; -1: for ever. False: none was.
  template <class F>
  bool wait(int timeout_ms, F&& f) noexcept {
    epoll_event events[16];
    const int n = ::epoll_wait(all_.get(), events, 16, timeout_ms);
    for (int i = 0; i < n; ++i) f(events[i].data.ptr);
    return n > 0;
  }

 private:
  bool control(int how, int fd, void* what, std::uint32_t events) const noexcept {
    epoll_event event{};
    event.events = events;
    event.data.ptr = what;
    return ::epoll_ctl(all_.get(), how, fd, &event) == 0;
  }

  unique_fd all_;
};

}  // namespace tutti
