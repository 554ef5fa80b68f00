#include "providers/messages/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/file_limit.h"

namespace tutti::messages {
namespace {

mapping map_file(int fd, std::size_t bytes, int how = MAP_SHARED) noexcept {
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, how, fd, 0);
  return at == MAP_FAILED ? mapping{} : mapping{static_cast<std::byte*>(at), bytes};
}

}  // namespace

memory_name shared_memory::name() const noexcept {
  struct stat s{};
  if (!here.base || ::fstat(fd, &s) != 0) return {};
  return {::getpid(), fd, s.st_dev, s.st_ino, here.bytes};
}

shared_memory create_shared_memory(std::size_t bytes) noexcept {
  shared_memory made;
  made.fd = ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made.fd >= 0) {
    const int e = file_may_have(bytes) ? ::posix_fallocate(made.fd, 0, static_cast<off_t>(bytes)) : EFBIG;
    if (e == 0) made.here = map_file(made.fd, bytes);
    made.full = e == ENOSPC, made.too_long = e == EFBIG;
  }
  if (!made.here.base) close_shared_memory(made);
  return made;
}

void close_shared_memory(shared_memory& m) noexcept {
  unmap(m.here);
  if (m.fd >= 0) ::close(m.fd);
  m.fd = -1;
}

mapping private_memory(std::size_t bytes) noexcept { return map_file(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS); }

mapping map_shared_memory(const memory_name& name) noexcept {
  if (name.pid <= 0 || name.bytes == 0) return {};
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", name.pid, name.fd);
  // Another file may lie there by now; opening a pipe or a device must not block or become a terminal of ours.
  const int fd = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  struct stat s{};
  mapping m;
  if (::fstat(fd, &s) == 0 && s.st_dev == name.device && s.st_ino == name.inode &&
      static_cast<std::uint64_t>(s.st_size) >= name.bytes)
    m = map_file(fd, name.bytes);
  ::close(fd);
  return m;
}

void empty(const mapping& m) noexcept {
  constexpr int fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (m.base) ::mmap(m.base, m.bytes, PROT_READ | PROT_WRITE, fresh, -1, 0);
}

void unmap(mapping& m) noexcept {
  if (m.base) ::munmap(m.base, m.bytes);
  m = {};
}

}  // namespace tutti::messages
