#include "tools/run/leavings.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "core/base/unique_fd.h"

namespace tutti::launching {
namespace {

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// PID:N:N
bool is_of(std::string_view name, std::string_view pid) noexcept {
  if (!name.starts_with(pid) || name.size() <= pid.size() || name[pid.size()] != ':') return false;
  name.remove_prefix(pid.size() + 1);
  const auto colon = name.find(':');
  return colon != name.npos && is_number(name.substr(0, colon)) && is_number(name.substr(colon + 1));
}

// UCX's name says nothing of whose it is. A living process has the file open, or mapped, at any time while its name stands: a lease to
// write is granted where none has.
bool is_nobodys(const std::string& path) noexcept {
  const unique_fd file{::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
  struct stat s;
  if (!file || ::fstat(file.get(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != ::geteuid()) return false;
  return ::fcntl(file.get(), F_SETLEASE, F_WRLCK) == 0;
}

}  // namespace

void remove_leavings(pid_t pid) noexcept {
  try {
    const std::string of = std::to_string(pid);
    std::error_code gone;
    for (std::filesystem::directory_iterator at{"/dev/shm", gone}, end; !gone && at != end; at.increment(gone))
      if (const std::string name = at->path().filename().string();
          is_of(name, of) || (name.starts_with("ucx_shm_posix_") && is_nobodys(at->path().string())))
        ::shm_unlink(("/" + name).c_str());
  } catch (...) {  // no memory to look for them: they stay
  }
}

}  // namespace tutti::launching
