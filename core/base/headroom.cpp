#include "core/base/headroom.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace tutti {
namespace {

status descriptors_for(const char* who, unsigned needed) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  rlim_t left = 0;
  if (DIR* open = ::opendir("/proc/self/fd")) {
    rlim_t used = 0;
    while (::readdir(open)) ++used;
    ::closedir(open);
    used -= 3;  // two names for folders, and the one that was read
    left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
  } else if (errno != EMFILE) {
    return {};  // no /proc: nobody knows
  }
  if (left >= needed) return {};
  return {errc::no_resource, worded("this process may open ", left, " more files, and ", who, " needs ", needed,
                                    "; raise the limit, which is ", limit.rlim_cur, " (ulimit -n 4096)"), no_rank, EMFILE};
}

}  // namespace

status headroom(const char* who, unsigned descriptors, const mapped_bytes& needed) {
  if (status s = descriptors_for(who, descriptors); s.failed()) return s;
  if (needed.address_space == 0) return {};
  const auto refused = [&](std::size_t bytes, const char* of_what, const char* option) {
    const int error = errno;
    return status{errc::no_resource, worded("this process may not map the ", bytes >> 20, " MiB", of_what, " that ", who, " needs: ",
                                            std::strerror(error), "; raise the limit (ulimit ", option, ")"), no_rank, error};
  };
  void* const at = ::mmap(nullptr, needed.address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return refused(needed.address_space, "", "-v");
  status s;
  if (::mprotect(at, needed.data, PROT_READ | PROT_WRITE) != 0) s = refused(needed.data, " of data", "-d");  // which nobody touches
  ::munmap(at, needed.address_space);
  return s;
}

}  // namespace tutti
