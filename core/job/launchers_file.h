// A file that a launcher has made for its ranks, with a place for each.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/unique_fd.h"

namespace tutti {

// None where there is no such file of this user, of that many bytes: another launcher's folder may be one that everybody can write to.
inline unique_fd open_launchers_file(const char* path, int flags, off_t bytes) noexcept {
  struct stat s;
  if (::lstat(path, &s) != 0 || !S_ISREG(s.st_mode)) return {};
  unique_fd fd{::open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
  if (!fd || ::fstat(fd.get(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != ::geteuid() || s.st_size != bytes) return {};
  return fd;
}

}  // namespace tutti
