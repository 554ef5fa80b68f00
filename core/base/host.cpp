// Which host this process is on, in the sense that matters here: two processes have equal ids exactly when a name in
// /dev/shm and a pid mean the same thing to both. Hence the boot, the host name, the pid and IPC namespaces, and which
// file system is mounted on /dev/shm (a mount namespace alone decides nothing: it may still share that mount).
#include "core/base/host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>

namespace tutti {
namespace {

constexpr const char* boot_id = "/proc/sys/kernel/random/boot_id";
thread_local int missing = 0;  // the error for which this_host() could not tell

// Where there is no such file it is the same for all. But one that cannot be read for want of a descriptor or memory would make
// this rank a host of its own.
std::string first_line(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno != ENOENT && errno != EACCES && errno != EPERM) throw errno;
  char text[64];
  const ssize_t n = fd < 0 ? 0 : ::read(fd, text, sizeof text);
  if (fd >= 0) ::close(fd);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

// Device and inode name a namespace, and the root of a mounted file system, uniquely within one boot.
std::string identity(const char* path) {
  struct stat s{};
  if (stat(path, &s) != 0) return "-";
  return std::to_string(s.st_dev) + ":" + std::to_string(s.st_ino);
}

// FNV-1a; two runs with different starts give 128 bits. Nobody attacks it, it only has to spread.
std::uint64_t fnv(const std::string& text, std::uint64_t hash) {
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  hash ^= hash >> 32;
  return hash * 0x9e3779b97f4a7c15u;
}

host_id compute() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string text = first_line(boot_id);
  for (const std::string& part : {std::string{name}, identity("/proc/self/ns/pid"), identity("/proc/self/ns/ipc"),
                                  identity("/dev/shm")})
    text += '\n' + part;
  const std::uint64_t halves[2] = {fnv(text, 0xcbf29ce484222325u), fnv(text, 0x84222325cbf29ce4u)};
  host_id id;
  static_assert(sizeof id == sizeof halves);
  std::memcpy(id.data(), halves, sizeof id);
  return id;
}

}  // namespace

host_id this_host() noexcept {
  try {
    return compute();  // not kept: a process may enter another namespace before it asks
  } catch (const std::bad_alloc&) {
    missing = ENOMEM;
  } catch (int error) {
    missing = error;
  }
  return {};
}

status unknown_host() {
  return {errc::no_resource, worded("cannot tell which host this is: reading ", boot_id, ": ", std::strerror(missing),
                                    (missing == EMFILE ? "; raise the limit of open files (ulimit -n)" : "")), no_rank, missing};
}

}  // namespace tutti
