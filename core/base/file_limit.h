// How long a file of this process may become (RLIMIT_FSIZE, `ulimit -f`), memory files among them: the kernel ends by SIGXFSZ who goes
// beyond, so it is asked before.
#pragma once
#include <sys/resource.h>

#include <cstdint>

namespace tutti {

inline constexpr char remedy_of_long_files[] = "; raise the limit of file sizes (ulimit -f)";

inline bool file_may_have(std::uint64_t bytes) noexcept {
  rlimit most{};
  return ::getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || bytes <= most.rlim_cur;
}

}  // namespace tutti
