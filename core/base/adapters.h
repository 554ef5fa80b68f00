// Whether this host has RDMA adapters, as its kernel tells; where the kernel does not tell, it has. Allocates nothing, since it is
// asked before a vendor's library starts, where a want of memory has to stay an error.
#pragma once
#include <dirent.h>

#include <cerrno>

namespace tutti {

inline bool has_adapters() noexcept {
  DIR* const all = ::opendir("/sys/class/infiniband");
  if (!all) return errno != ENOENT;
  bool any = false;
  while (const dirent* const entry = ::readdir(all)) any = any || entry->d_name[0] != '.';
  ::closedir(all);
  return any;
}

}  // namespace tutti
