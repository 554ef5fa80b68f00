// Which host this process is on, in the sense that matters here: two processes have equal ids exactly when a name in
// /dev/shm and a pid mean the same thing to both, and each may open the other's descriptors in /proc. Hence the boot, the host
// name, the pid and IPC namespaces, and which file system is mounted on /dev/shm (a mount namespace alone decides nothing: it may
// still share that mount); and what the kernel compares before it lets one process look into another (ptrace(2)): user
// namespace, users and groups, and whether the process is dumpable.
#include "core/base/host.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "core/base/random.h"

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

// Users and groups: real, effective and saved.
std::string ids() {
  uid_t u[3] = {};
  gid_t g[3] = {};
  ::getresuid(&u[0], &u[1], &u[2]);
  ::getresgid(&g[0], &g[1], &g[2]);
  std::string out;
  for (int i = 0; i < 3; ++i) out += std::to_string(u[i]) + ':' + std::to_string(g[i]) + ' ';
  return out;
}

// Where a pid of this process's own in /proc is that process.
bool has_own_proc() {
  char pid[32] = {};
  const ssize_t n = ::readlink("/proc/self", pid, sizeof pid - 1);
  if (n < 0 && errno == ENOMEM) throw errno;
  return n > 0 && std::strtoll(pid, nullptr, 10) == ::getpid();
}

// A program that may be run and not read is not dumpable, nor is a process that has changed its user.
bool may_be_opened() {
  if (::prctl(PR_GET_DUMPABLE) == 1) return true;
  constexpr std::uint64_t first_user_namespace = 0xeffffffd;  // in any other, capabilities may not count
  struct stat s{};
  if (::stat("/proc/self/ns/user", &s) != 0 || s.st_ino != first_user_namespace) return false;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  return ::syscall(SYS_capget, &head, sets) == 0 && (sets[0].effective >> CAP_SYS_PTRACE & 1);
}

// No other process's.
std::string of_this_process() {
  static const std::uint64_t number = [] {
    std::uint64_t drawn = 0;
    return draw(drawn) ? drawn : 0;
  }();
  return std::to_string(number) + ' ' + std::to_string(::getpid());
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
                                  identity("/proc/self/ns/user"), identity("/dev/shm"), ids(),
                                  has_own_proc() && may_be_opened() ? std::string{} : of_this_process()})
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

std::uint64_t this_machine() noexcept {
  try {
    const std::string boot = first_line(boot_id);
    return boot.empty() ? 0 : fnv(boot, 0xcbf29ce484222325u);
  } catch (...) {
    return 0;  // this_host() has failed for the same cause
  }
}

status unknown_host() {
  return {errc::no_resource, worded("cannot tell which host this is: reading ", boot_id, ": ", std::strerror(missing),
                                    (missing == EMFILE ? "; raise the limit of open files (ulimit -n)" : "")), no_rank, missing};
}

}  // namespace tutti
