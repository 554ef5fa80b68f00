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

status headroom(const char* who, unsigned descriptors, std::size_t address_space) {
  if (status s = descriptors_for(who, descriptors); s.failed()) return s;
  if (address_space == 0) return {};
  void* at = ::mmap(nullptr, address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    return {errc::no_resource, worded("this process may not map the ", address_space >> 20, " MiB that ", who, " needs: ",
                                      std::strerror(error), "; raise the limit (ulimit -v)"), no_rank, error};
  }
  ::munmap(at, address_space);
  return {};
}

}  // namespace tutti
