// The system calls of the machine's processes, but for those upon sockets (sockets.cpp) and those that wait (waits.cpp).
// Outside of these processes each is the kernel's own.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "core/multicast/ip_interface.h"
#include "tests/seeded/calls.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds epoch_of_clock = std::chrono::hours{1};  // what the machine's clock shows at its start

struct pipe_end : object {
  struct content {
    std::uint64_t inode = 0;
    std::size_t bytes = 0;
  };
  std::shared_ptr<content> pipe;
  bool reads = false;
  bool readable() const override { return reads && pipe->bytes; }
};
std::uint64_t next_inode = 1;

struct text_file : object {
  std::string text;
  std::size_t at = 0;
};

// What the running process names as /proc/<pid>/fd/<fd>, or null.
process* owner_of(int pid, int fd) {
  process* owner = world->by_pid(pid);
  const bool there = owner && owner->running && owner->host == running->host &&
                     (fd >= first_fake ? owner->fakes.count(fd) : owner->files.count(fd));
  return there ? owner : nullptr;
}

void describe(struct stat& st, const pipe_end& p) {
  st = {};
  st.st_ino = p.pipe->inode, st.st_dev = 777;
}

std::pair<std::uint64_t, std::uint64_t> shared_word(const void* at) {
  for (const auto& [base, inode] : running->inodes) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - static_cast<std::byte*>(base));
    if (at >= base && offset < running->mappings[base]) return {inode, offset};
  }
  return {0, reinterpret_cast<std::uintptr_t>(at)};
}

long futex(std::uint32_t* word, int what, std::uint32_t value, const timespec* until) {
  const auto key = shared_word(word);
  if (what == FUTEX_WAKE) {
    const in_kernel k;
    for (auto& p : world->processes) {
      if (!p->running || p->futex != key) continue;
      world->wake(*p);
      return 1;
    }
    return 0;
  }
  if (std::atomic_ref{*word}.load() != value) return failed(EAGAIN);
  running->futex = key;
  const nanoseconds end = std::chrono::seconds{until->tv_sec} + nanoseconds{until->tv_nsec} - epoch_of_clock;
  world->wait({}, std::max(end, world->now()));
  return 0;
}

}  // namespace
}  // namespace tutti::test

using namespace tutti::test;
using namespace std::chrono_literals;

extern "C" {

int __real_close(int);
int __real_open(const char*, int, ...);
void* __real_mmap(void*, std::size_t, int, int, int, off_t);
int __real_munmap(void*, std::size_t);
long __real_syscall(long, ...);
pid_t __real_getpid();
int __real_usleep(useconds_t);
int __real_fstat(int, struct stat*);
int __real_stat(const char*, struct stat*);
ssize_t __real_read(int, void*, std::size_t);
ssize_t __real_write(int, const void*, std::size_t);
int __real_memfd_create(const char*, unsigned);
ssize_t __real_getrandom(void*, std::size_t, unsigned);

int __wrap_close(int fd) {
  if (!running) return __real_close(fd);
  world->step();
  unwatch(fd);
  if (fd >= first_fake) return world->close(fd);
  if (!running->files.erase(fd)) {
    world->complain(running->name + " closes descriptor " + std::to_string(fd) + ", which is not open");
    return failed(EBADF);
  }
  return __real_close(fd);
}

int __wrap_open(const char* path, int flags, ...) {
  mode_t mode = 0;
  std::va_list more;
  va_start(more, flags);
  if (flags & (O_CREAT | O_TMPFILE)) mode = va_arg(more, mode_t);
  va_end(more);
  if (!running) return __real_open(path, flags, mode);
  world->step();
  for (const char* elsewhere : {"/proc/self/", "/proc/meminfo", "/sys/"})
    if (std::strncmp(path, elsewhere, std::strlen(elsewhere)) == 0) return failed(ENOENT);
  if (world->random.one_in(world->no_file_one_in)) return failed(EMFILE);
  int pid = 0, fd = -1, end = 0;
  char real[64];
  if (std::sscanf(path, "/proc/%d/fd/%d", &pid, &fd) == 2) {
    const process* owner = owner_of(pid, fd);
    if (!owner) return failed(ENOENT);
    if (fd >= first_fake) {
      const auto* other = dynamic_cast<pipe_end*>(owner->fakes.at(fd).get());
      if (!other) return failed(ENXIO);
      return open_new<pipe_end>([&](pipe_end& p) { p.pipe = other->pipe; });
    }
    std::snprintf(real, sizeof real, "/proc/self/fd/%d", fd);
    path = real;
  } else if (std::sscanf(path, "/proc/%d/stat%n", &pid, &end) == 1 && end) {
    const process* of = world->by_pid(pid);
    if (!of || of->gone) return failed(ENOENT);
    return open_new<text_file>([&](text_file& f) {
      f.text = std::to_string(pid) + " (rank) " + (of->told ? "Z" : "R") + " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 " + std::to_string(pid) + " 0\n";
    });
  }
  const int made = __real_open(path, flags, mode);
  if (made >= 0) {
    const in_kernel k;
    k.caller().files.insert(made);
  }
  return made;
}

void* __wrap_mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (running) world->step();
  void* made = __real_mmap(at, bytes, protection, flags, fd, offset);
  if (running && made != MAP_FAILED) {
    const in_kernel k;
    k.caller().mappings[made] = bytes;
    k.caller().inodes.erase(made);
    struct stat st;
    if (fd >= 0 && __real_fstat(fd, &st) == 0) k.caller().inodes[made] = st.st_ino;
  }
  return made;
}

int __wrap_munmap(void* at, std::size_t bytes) {
  if (running) {
    world->step();
    const in_kernel k;
    if (!k.caller().mappings.erase(at)) world->complain(k.caller().name + " unmaps what it has not mapped");
    k.caller().inodes.erase(at);
  }
  return __real_munmap(at, bytes);
}

pid_t __wrap_getpid() { return running ? running->pid : __real_getpid(); }

long __wrap_syscall(long number, ...) {
  std::va_list more;
  va_start(more, number);
  long a[6];
  for (long& x : a) x = va_arg(more, long);
  va_end(more);
  if (!running) return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  world->step();
  if (number == SYS_membarrier) return 0;  // nobody else runs
  if (number == SYS_futex)
    return futex(reinterpret_cast<std::uint32_t*>(a[0]), static_cast<int>(a[1]), static_cast<std::uint32_t>(a[2]),
                 reinterpret_cast<const timespec*>(a[3]));
  if (number != SYS_pidfd_open) return failed(ENOSYS);
  process* of = world->by_pid(static_cast<int>(a[0]));
  if (!of || of->gone) return failed(ESRCH);
  if (world->random.one_in(world->no_pidfd_one_in)) return failed(EMFILE);  // once it is found, as Linux does
  return open_new<pid_object>([&](pid_object& p) { p.of = of; });
}

int __wrap_usleep(useconds_t t) {
  if (!running) return __real_usleep(t);
  world->idle(std::chrono::microseconds{t} + world->random.time(50us));
  return 0;
}

ssize_t __wrap_getrandom(void* to, std::size_t bytes, unsigned flags) {
  if (!running) return __real_getrandom(to, bytes, flags);
  for (std::size_t i = 0; i < bytes; ++i) static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(world->random.draw());
  return static_cast<ssize_t>(bytes);
}

// --- files, pipes, and other processes' memory

int __wrap_memfd_create(const char* name, unsigned flags) {
  if (running) world->step();
  const int made = __real_memfd_create(name, flags);
  if (running && made >= 0) {
    const in_kernel k;
    k.caller().files.insert(made);
  }
  return made;
}

int __wrap_stat(const char* path, struct stat* st) {
  if (!running) return __real_stat(path, st);
  world->step();
  int pid = 0, fd = -1;
  if (std::sscanf(path, "/proc/%d/fd/%d", &pid, &fd) != 2) return __real_stat(path, st);
  const process* owner = owner_of(pid, fd);
  if (!owner) return failed(ENOENT);
  if (fd < first_fake) return __real_fstat(fd, st);
  const auto* p = dynamic_cast<pipe_end*>(owner->fakes.at(fd).get());
  return p ? describe(*st, *p), 0 : failed(ENXIO);
}

int __wrap_fstat(int fd, struct stat* st) {
  if (!running || fd < first_fake) return __real_fstat(fd, st);
  const auto p = find_as<pipe_end>(fd);
  return p ? describe(*st, *p), 0 : failed(EBADF);
}

int __wrap_pipe2(int* ends, int) {
  world->step();
  std::shared_ptr<pipe_end::content> pipe;
  ends[0] = open_new<pipe_end>([&](pipe_end& p) {
    pipe = p.pipe = std::make_shared<pipe_end::content>();
    pipe->inode = next_inode++;
    p.reads = true;
  });
  ends[1] = open_new<pipe_end>([&](pipe_end& p) { p.pipe = pipe; });
  return 0;
}

ssize_t __wrap_read(int fd, void* to, std::size_t most) {
  if (!running) return __real_read(fd, to, most);
  world->step();
  if (fd < first_fake) return __real_read(fd, to, most);
  if (const auto f = find_as<text_file>(fd)) {
    const std::size_t n = std::min(most, f->text.size() - f->at);
    std::memcpy(to, f->text.data() + f->at, n);
    f->at += n;
    return static_cast<ssize_t>(n);
  }
  const auto p = find_as<pipe_end>(fd);
  if (!p) return failed(EBADF);
  const std::size_t n = std::min(most, p->pipe->bytes);
  p->pipe->bytes -= n;
  return n ? static_cast<ssize_t>(n) : failed(EAGAIN);
}

ssize_t __wrap_write(int fd, const void* from, std::size_t bytes) {
  if (!running || fd < first_fake) return __real_write(fd, from, bytes);
  world->step();
  const auto p = find_as<pipe_end>(fd);
  if (!p) return failed(EBADF);
  p->pipe->bytes += bytes;
  return static_cast<ssize_t>(bytes);
}

static ssize_t between(pid_t pid, const iovec* mine, unsigned long n, const iovec* its, bool in) {
  world->step();
  const process* other = world->by_pid(pid);
  if (!other || !other->running) return failed(ESRCH);
  auto* there = static_cast<std::byte*>(its->iov_base);
  ssize_t moved = 0;
  for (unsigned long i = 0; i < n; ++i) {
    in ? std::memcpy(mine[i].iov_base, there, mine[i].iov_len) : std::memcpy(there, mine[i].iov_base, mine[i].iov_len);
    there += mine[i].iov_len, moved += static_cast<ssize_t>(mine[i].iov_len);
  }
  return moved;
}

ssize_t __wrap_process_vm_readv(pid_t pid, const iovec* mine, unsigned long n, const iovec* its, unsigned long, unsigned long) {
  return between(pid, mine, n, its, true);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const iovec* mine, unsigned long n, const iovec* its, unsigned long, unsigned long) {
  return between(pid, mine, n, its, false);
}

}  // extern "C"

// --- what the library's own sources ask by C++ names

namespace tutti::test {

std::chrono::steady_clock::time_point wrapped_now() noexcept asm("__wrap__ZNSt6chrono3_V212steady_clock3nowEv");
std::chrono::steady_clock::time_point real_now() noexcept asm("__real__ZNSt6chrono3_V212steady_clock3nowEv");
std::chrono::steady_clock::time_point wrapped_now() noexcept {
  return world ? std::chrono::steady_clock::time_point{epoch_of_clock + world->now()} : real_now();
}

std::vector<ip_interface> wrapped_interfaces() asm("__wrap__ZN5tutti13ip_interfacesEv");
std::vector<ip_interface> wrapped_interfaces() { return {}; }

ip_place wrapped_place(std::span<const ip_interface>) asm(
    "__wrap__ZN5tutti21place_of_this_processESt4spanIKNS_12ip_interfaceELm18446744073709551615EE");
ip_place wrapped_place(std::span<const ip_interface>) {
  ip_place here;
  here.count = 1;
  here.network = static_cast<std::uint64_t>(running->host) + 1;
  here.at[0] = {0x0a000001u + static_cast<std::uint32_t>(running->host), 0xffffff00u};
  return here;
}

host_id wrapped_host() noexcept asm("__wrap__ZN5tutti9this_hostEv");
host_id wrapped_host() noexcept {
  host_id id{};
  id[0] = static_cast<host_id::value_type>(running->host + 1);
  return id;
}

}  // namespace tutti::test
