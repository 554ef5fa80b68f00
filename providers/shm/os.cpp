#include "providers/shm/os.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/file_limit.h"
#include "core/base/memory_room.h"
#include "core/base/round_up.h"

namespace tutti::shm {

namespace {

// Entering the pages of a small region at once is cheaper than a fault for each; of a large one few may be touched.
constexpr std::uint64_t populate_up_to = 4 << 20;

// Field 22 of /proc/<pid>/stat, or 0. The name, field 2, may hold blanks and parentheses.
std::uint64_t start_of(pid_t pid) noexcept {
  char path[40], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const unique_fd fd{::open(path, O_RDONLY | O_CLOEXEC)};
  if (!fd) return 0;
  const ssize_t n = ::read(fd.get(), text, sizeof text - 1);
  if (n <= 0) return 0;
  text[n] = 0;
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at ? std::strtoull(at + 1, nullptr, 10) : 0;
}

std::string size_text(std::size_t bytes) {
  return bytes >= (1u << 20) ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes) + " bytes";
}

}  // namespace

process_id this_process() noexcept {
  process_id p;
  p.pid = ::getpid();
  p.start_ticks = start_of(p.pid);
  return p;
}

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

mapping::~mapping() {
  if (at_) ::munmap(at_, bytes_);
}

status os_error(const text_parts& what, int error) noexcept {
  const char* remedy = "";
  errc code = errc::no_resource;
  switch (error) {
    case EMFILE: remedy = "; raise the limit of open files (ulimit -n)"; break;
    case ENFILE: remedy = "; raise /proc/sys/fs/file-max"; break;
    case ENOMEM:
    case ENOSPC: remedy = "; free memory, or raise the memory limit of this container or cgroup"; break;
    case EFBIG: remedy = remedy_of_long_files; break;
    case EACCES:
    case EPERM:
      code = errc::unavailable;
      remedy = remedy_of_access;
      break;
    default: break;
  }
  return status(code, worded(std::strerror(error), remedy), no_rank, error).during(what);
}

result<shared_memory> create_memory(std::size_t bytes, const char* what) {
  const std::string doing = "cannot get " + size_text(bytes) + " of shared memory for " + what;
  if (bytes == 0 || bytes > (std::size_t{1} << 62)) return os_error(doing, ENOMEM);
  bytes = round_up(bytes, page_bytes());
  if (const std::uint64_t room = memory_room_for(bytes); bytes > room - room / 16)
    return os_error(worded(doing, " (", size_text(room), " are available)"), ENOMEM);

  if (!file_may_have(bytes)) return os_error(doing, EFBIG);
  shared_memory m;
  m.fd = unique_fd{::memfd_create(what, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!m.fd) return os_error(doing, errno);
  // fallocate rather than ftruncate alone: memory that cannot be had is an error here, not a SIGBUS later.
  int error;
  do error = ::posix_fallocate(m.fd.get(), 0, static_cast<off_t>(bytes));
  while (error == EINTR);
  if (error) return os_error(doing, error);
  if (::fcntl(m.fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) return os_error(doing, errno);
  struct stat st;
  if (::fstat(m.fd.get(), &st)) return os_error(doing, errno);
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, m.fd.get(), 0);
  if (at == MAP_FAILED) return os_error(doing, errno);
  m.memory = mapping{at, bytes};
  m.name = {this_process(), bytes, st.st_ino, st.st_dev, m.fd.get(), 0};
  return m;
}

bool is_open(const shared_memory& m) noexcept {
  struct stat st;
  return ::fstat(m.fd.get(), &st) == 0 && st.st_ino == m.name.inode && st.st_dev == m.name.device;
}

// The kernel takes a process that ends first its memory, then its descriptors; so one that still has its program has closed by
// itself what it does not hold any more. In doubt it runs.
bool still_runs(const process_id& p) noexcept {
  char path[32], program[8];
  std::snprintf(path, sizeof path, "/proc/%d/exe", p.pid);
  if (::readlink(path, program, sizeof program) >= 0 || (errno != ENOENT && errno != ESRCH)) return true;
  return ::readlink("/proc/self/exe", program, sizeof program) < 0;  // /proc is gone
}

bool is_held(const memory_name& name) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", name.owner.pid, name.fd);
  struct stat st;
  if (::stat(path, &st)) return errno != ENOENT && errno != ESRCH;
  return st.st_ino == name.inode && st.st_dev == name.device;
}

result<unique_fd> open_descriptor(const process_id& owner, int fd, std::uint64_t inode, std::uint64_t device,
                                  int flags) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", owner.pid, fd);
  const auto gone = [&] {
    return status{errc::peer_dead, worded("process ", owner.pid, " has ended or closed its memory")};
  };
  // Look before opening: the number may stand for something else by now, and opening a device has effects.
  struct stat st;
  if (::stat(path, &st)) {
    if (errno == ENOENT || errno == ESRCH) return gone();
    return os_error(worded("cannot look at ", path), errno);
  }
  if (st.st_ino != inode || st.st_dev != device) return gone();
  unique_fd opened{::open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!opened) {
    if (errno == ENOENT || errno == ESRCH) return gone();
    return os_error(worded("cannot open ", path), errno);
  }
  if (::fstat(opened.get(), &st) || st.st_ino != inode || st.st_dev != device) return gone();
  return opened;
}

result<mapping> open_memory(const memory_name& name, const char* what, std::size_t offset, std::size_t bytes, bool whole) {
  auto fd = open_descriptor(name.owner, name.fd, name.inode, name.device, O_RDWR);
  if (!fd) return fd.error();
  struct stat st;
  if (::fstat(fd->get(), &st) || static_cast<std::uint64_t>(st.st_size) != name.bytes)
    return status{errc::protocol, worded(what, " of process ", name.owner.pid, " does not have the size it announced")};
  bytes = std::min<std::size_t>(bytes, name.bytes - offset);
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (whole && bytes <= populate_up_to ? MAP_POPULATE : 0),
                    fd->get(), static_cast<off_t>(offset));
  if (at == MAP_FAILED)
    return os_error(worded("cannot map ", bytes, " bytes of process ", name.owner.pid), errno);
  return mapping{at, bytes};
}

process_watch::found watch_owner(const memory_name& name, process_watch& process) noexcept {
  const process_watch::found seen = process.open(name.owner.pid);
  // In this order: if the owner has its memory now, the process that is watched cannot be another one; nor if it began when the
  // owner did. One that closed its descriptors has no memory that others find, and lives.
  const bool held = is_held(name);
  const std::uint64_t began = held || name.owner.start_ticks == 0 || !still_runs(name.owner) ? 0 : start_of(name.owner.pid);
  if (held || (began != 0 && began == name.owner.start_ticks))
    return seen == process_watch::found::ended ? process_watch::found::unknown : seen;
  if (began == 0 && seen != process_watch::found::ended && !process.ended() && still_runs(name.owner)) return seen;  // in doubt
  process.close();
  return process_watch::found::ended;
}

bool register_membarrier() noexcept {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 &&
         ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void membarrier_everywhere() noexcept { ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); }

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, time_point until) noexcept {
  const std::int64_t ns = until.time_since_epoch().count() > 0 ? until.time_since_epoch().count() : 0;
  const timespec at{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, &at, nullptr, FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace tutti::shm
