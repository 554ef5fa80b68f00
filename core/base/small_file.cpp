// What a path names is looked at before it is opened, since to open a device may set it in motion; and again afterwards,
// since it may have been exchanged. A FIFO that came in between does not block: it is opened as one that must not.
#include "core/base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/unique_fd.h"

namespace tutti {
namespace {

status refused(std::string why, int code = 0) { return {errc::invalid, std::move(why), no_rank, code}; }

status is_file(const struct stat& s) {
  if (S_ISREG(s.st_mode)) return {};
  return refused(S_ISDIR(s.st_mode)    ? "it is a folder"
                 : S_ISFIFO(s.st_mode) ? "it is a pipe"
                 : S_ISSOCK(s.st_mode) ? "it is a socket"
                                       : "it is a device");
}

}  // namespace

result<std::string> read_small_file(const std::string& path, std::size_t most) {
  struct stat seen;
  if (::stat(path.c_str(), &seen) != 0) return refused(std::strerror(errno), errno);
  if (status s = is_file(seen); s.failed()) return s;
  const unique_fd file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (!file || ::fstat(file.get(), &seen) != 0) return refused(std::strerror(errno), errno);
  if (status s = is_file(seen); s.failed()) return s;
  std::string text;
  for (std::size_t have = 0;;) {  // the length that it tells may be wrong: files of /proc have none
    text.resize(std::min(most + 1, 2 * have + 4096));
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(std::strerror(errno), errno);
    have += static_cast<std::size_t>(got);
    if (have > most) return refused("it is longer than " + std::to_string(most >> 10) + " KiB");
    if (got != 0) continue;
    text.resize(have);
    return text;
  }
}

}  // namespace tutti
