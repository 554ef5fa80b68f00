#include "core/base/dev_shm.h"

#include <sys/statvfs.h>

#include <cstdio>

namespace tutti {

std::uint64_t room_in_dev_shm() noexcept {
  struct statvfs s {};
  return ::statvfs("/dev/shm", &s) == 0 ? std::uint64_t{s.f_bavail} * s.f_frsize : 0;
}

std::string in_binary_units(std::uint64_t bytes) {
  char text[32];
  if (bytes < std::uint64_t{1} << 20) std::snprintf(text, sizeof text, "%.4g KiB", static_cast<double>(bytes) / 1024);
  else if (bytes < std::uint64_t{1} << 30) std::snprintf(text, sizeof text, "%.4g MiB", static_cast<double>(bytes) / (1 << 20));
  else std::snprintf(text, sizeof text, "%.4g GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

status dev_shm_too_small(const std::string& who, std::uint64_t needed, std::uint64_t room) {
  return {errc::no_resource, worded("/dev/shm has ", in_binary_units(room), " free, and ", who, " needs ", in_binary_units(needed),
                                    " there; mount a larger tmpfs (mount -o remount,size=1g /dev/shm; docker run --shm-size=1g)")};
}

}  // namespace tutti
