// A descriptor that is closed with its owner.
#pragma once
#include <unistd.h>

#include <utility>

namespace tutti {

// Of programs that close all descriptors from 3 on, as daemons do.
inline constexpr const char* remedy_of_closing =
    "; a program must leave open the descriptors that it has not opened, or close them before tutti_init()";

class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& o) noexcept { std::swap(fd_, o.fd_); return *this; }
  ~unique_fd() { close(); }
  int get() const noexcept { return fd_; }  // -1: none
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace tutti
