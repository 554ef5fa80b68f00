#include "tools/run/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::launching {

bool input_relay::open() {
  if (!isatty(0)) return true;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  rank_end_ = unique_fd{fds[0]}, our_end_ = unique_fd{fds[1]};
  return fcntl(our_end_.get(), F_SETFL, O_NONBLOCK) == 0;
}

pollfd input_relay::interest() const noexcept {
  if (!our_end_) return {-1, 0, 0};
  if (!pending_.empty()) return {our_end_.get(), POLLOUT, 0};
  return {tcgetpgrp(0) == getpgrp() ? 0 : -1, POLLIN, 0};  // in the background, reading would stop the launcher
}

void input_relay::proceed() {
  if (pending_.empty()) {
    char bytes[4096];
    const ssize_t got = read(0, bytes, sizeof bytes);
    if (got > 0)
      pending_.assign(bytes, static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      our_end_.close();  // the end of the input is the rank's as well
    return;
  }
  const ssize_t put = write(our_end_.get(), pending_.data(), pending_.size());
  if (put > 0)
    pending_.erase(0, static_cast<std::size_t>(put));
  else if (errno != EINTR && errno != EAGAIN)
    our_end_.close();  // rank 0 closed its input or is gone
}

}  // namespace tutti::launching
