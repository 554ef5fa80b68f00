// The end of a process of this host, as the kernel tells it: by a pidfd, which becomes readable when the process has ended,
// however it does, and while it is a zombie. No library tells as soon and as surely: UCX's keepalive, for one, looks at /proc,
// where a zombie looks alive.
#pragma once
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

#include "core/base/unique_fd.h"

namespace tutti {

class process_watch {
 public:
  // Watched: though it may have ended since. Unknown: it cannot be watched, with errno (no descriptor is left, an old kernel,
  // no memory), so that somebody else has to tell, or a later try.
  enum class found : std::uint8_t { watched, ended, unknown };
  found open(std::int32_t pid) noexcept {
    fd_ = unique_fd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
    return fd_ ? found::watched : errno == ESRCH ? found::ended : found::unknown;
  }
  void close() noexcept { fd_.close(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }  // it is watched
  int fd() const noexcept { return fd_.get(); }                               // readable when it has ended
  // False where it is not watched. A program may close all descriptors from 3 on, as daemons do, and open others by these numbers:
  // neither is an end, and then the process is not watched any more.
  bool ended(int wait_ms = 0) noexcept {
    pollfd p{fd_.get(), POLLIN, 0};
    if (!fd_ || ::poll(&p, 1, wait_ms) != 1) return false;
    if (::syscall(SYS_pidfd_send_signal, fd_.get(), 0, nullptr, 0) == 0 || errno != EBADF) return true;
    std::construct_at(&fd_);  // not closed: it is somebody else's, or nobody's
    return false;
  }

 private:
  unique_fd fd_;
};

}  // namespace tutti
