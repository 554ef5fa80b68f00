// libc's wrappers of system calls by which tutti and its vendors get descriptors, memory, sockets and threads, each with the
// errors that it may give when there is not enough of something, or not the right to it.
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

#include "tests/faults/injection.h"

using namespace tutti::test;

namespace {

// The function that the wrapper hides.
template <class F>
F* hidden(const char* name) noexcept {
  return reinterpret_cast<F*>(next_symbol(name));
}

mode_t mode_of(int flags, va_list& more) {
  return flags & (O_CREAT | __O_TMPFILE) ? static_cast<mode_t>(va_arg(more, int)) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const real = hidden<int(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails_by_errno("open", {EMFILE, ENFILE, EACCES, ENOMEM}) ? -1 : real(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  static auto* const real = hidden<int(const char*, int, ...)>("open64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails_by_errno("open64", {EMFILE, ENFILE, EACCES, ENOMEM}) ? -1 : real(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  static auto* const real = hidden<int(int, const char*, int, ...)>("openat");
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return fails_by_errno("openat", {EMFILE, ENFILE, EACCES, ENOMEM}) ? -1 : real(folder, path, flags, mode);
}
int __open_2(const char* path, int flags) {
  static auto* const real = hidden<int(const char*, int)>("__open_2");
  return fails_by_errno("open", {EMFILE, ENFILE, EACCES, ENOMEM}) ? -1 : real(path, flags);
}
int __open64_2(const char* path, int flags) {
  static auto* const real = hidden<int(const char*, int)>("__open64_2");
  return fails_by_errno("open64", {EMFILE, ENFILE, EACCES, ENOMEM}) ? -1 : real(path, flags);
}
FILE* fopen(const char* path, const char* mode) {
  static auto* const real = hidden<FILE*(const char*, const char*)>("fopen");
  return fails_by_errno("fopen", {EMFILE, ENFILE, EACCES, ENOMEM}) ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  static auto* const real = hidden<FILE*(const char*, const char*)>("fopen64");
  return fails_by_errno("fopen64", {EMFILE, ENFILE, EACCES, ENOMEM}) ? nullptr : real(path, mode);
}
int shm_open(const char* name, int flags, mode_t mode) {
  static auto* const real = hidden<int(const char*, int, mode_t)>("shm_open");
  return fails_by_errno("shm_open", {EMFILE, EACCES, ENFILE}) ? -1 : real(name, flags, mode);
}
int memfd_create(const char* name, unsigned flags) noexcept {
  static auto* const real = hidden<int(const char*, unsigned)>("memfd_create");
  return fails_by_errno("memfd_create", {EMFILE, ENOMEM, ENFILE}) ? -1 : real(name, flags);
}
int ftruncate(int fd, off_t length) noexcept {
  static auto* const real = hidden<int(int, off_t)>("ftruncate");
  return fails_by_errno("ftruncate", {ENOSPC, EIO}) ? -1 : real(fd, length);
}
int ftruncate64(int fd, off64_t length) noexcept {
  static auto* const real = hidden<int(int, off64_t)>("ftruncate64");
  return fails_by_errno("ftruncate64", {ENOSPC, EIO}) ? -1 : real(fd, length);
}
int posix_fallocate(int fd, off_t from, off_t length) {
  static auto* const real = hidden<int(int, off_t, off_t)>("posix_fallocate");
  return fails_by_errno("posix_fallocate", {ENOSPC, EINTR}) ? errno : real(fd, from, length);
}
int posix_fallocate64(int fd, off64_t from, off64_t length) {
  static auto* const real = hidden<int(int, off64_t, off64_t)>("posix_fallocate64");
  return fails_by_errno("posix_fallocate64", {ENOSPC, EINTR}) ? errno : real(fd, from, length);
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  static auto* const real = hidden<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  return fails_by_errno("mmap", {ENOMEM, EAGAIN}) ? MAP_FAILED : real(at, bytes, protection, flags, fd, offset);
}
void* mmap64(void* at, std::size_t bytes, int protection, int flags, int fd, off64_t offset) noexcept {
  static auto* const real = hidden<void*(void*, std::size_t, int, int, int, off64_t)>("mmap64");
  return fails_by_errno("mmap64", {ENOMEM, EAGAIN}) ? MAP_FAILED : real(at, bytes, protection, flags, fd, offset);
}
int shmget(key_t key, std::size_t bytes, int flags) noexcept {
  static auto* const real = hidden<int(key_t, std::size_t, int)>("shmget");
  return fails_by_errno("shmget", {ENOSPC, ENOMEM}) ? -1 : real(key, bytes, flags);
}
void* shmat(int id, const void* at, int flags) noexcept {
  static auto* const real = hidden<void*(int, const void*, int)>("shmat");
  return fails_by_errno("shmat", {ENOMEM, EACCES}) ? reinterpret_cast<void*>(-1) : real(id, at, flags);
}
int socket(int domain, int type, int protocol) noexcept {
  static auto* const real = hidden<int(int, int, int)>("socket");
  return fails_by_errno("socket", {EMFILE, ENFILE, ENOBUFS, EACCES}) ? -1 : real(domain, type, protocol);
}
int socketpair(int domain, int type, int protocol, int fds[2]) noexcept {
  static auto* const real = hidden<int(int, int, int, int*)>("socketpair");
  return fails_by_errno("socketpair", {EMFILE, ENFILE}) ? -1 : real(domain, type, protocol, fds);
}
int bind(int fd, const sockaddr* address, socklen_t length) noexcept {
  static auto* const real = hidden<int(int, const sockaddr*, socklen_t)>("bind");
  return fails_by_errno("bind", {EADDRINUSE, EACCES}) ? -1 : real(fd, address, length);
}
int listen(int fd, int backlog) noexcept {
  static auto* const real = hidden<int(int, int)>("listen");
  return fails_by_errno("listen", {EADDRINUSE, ENOBUFS}) ? -1 : real(fd, backlog);
}
int connect(int fd, const sockaddr* address, socklen_t length) {
  static auto* const real = hidden<int(int, const sockaddr*, socklen_t)>("connect");
  return fails_by_errno("connect", {ECONNREFUSED, EADDRNOTAVAIL, EAGAIN}) ? -1 : real(fd, address, length);
}
int accept(int fd, sockaddr* address, socklen_t* length) {
  static auto* const real = hidden<int(int, sockaddr*, socklen_t*)>("accept");
  return fails_by_errno("accept", {EMFILE, ENFILE, ENOBUFS, ECONNABORTED}) ? -1 : real(fd, address, length);
}
int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  static auto* const real = hidden<int(int, sockaddr*, socklen_t*, int)>("accept4");
  return fails_by_errno("accept4", {EMFILE, ENFILE, ENOBUFS, ECONNABORTED}) ? -1 : real(fd, address, length, flags);
}
int setsockopt(int fd, int level, int name, const void* value, socklen_t length) noexcept {
  static auto* const real = hidden<int(int, int, int, const void*, socklen_t)>("setsockopt");
  return fails_by_errno("setsockopt", {ENOBUFS, ENOMEM, EPERM}) ? -1 : real(fd, level, name, value, length);
}
int getsockname(int fd, sockaddr* address, socklen_t* length) noexcept {
  static auto* const real = hidden<int(int, sockaddr*, socklen_t*)>("getsockname");
  return fails_by_errno("getsockname", {ENOBUFS}) ? -1 : real(fd, address, length);
}
int getifaddrs(ifaddrs** out) noexcept {
  static auto* const real = hidden<int(ifaddrs**)>("getifaddrs");
  return fails_by_errno("getifaddrs", {EMFILE, ENOMEM}) ? -1 : real(out);
}
int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** out) {
  static auto* const real = hidden<int(const char*, const char*, const addrinfo*, addrinfo**)>("getaddrinfo");
  return fails_by_errno("getaddrinfo", {ENOMEM}) ? EAI_MEMORY : real(node, service, hints, out);
}
int epoll_create(int size) noexcept {
  static auto* const real = hidden<int(int)>("epoll_create");
  return fails_by_errno("epoll_create", {EMFILE, ENFILE, ENOMEM}) ? -1 : real(size);
}
int epoll_create1(int flags) noexcept {
  static auto* const real = hidden<int(int)>("epoll_create1");
  return fails_by_errno("epoll_create1", {EMFILE, ENFILE, ENOMEM}) ? -1 : real(flags);
}
int epoll_ctl(int poll, int how, int fd, epoll_event* event) noexcept {
  static auto* const real = hidden<int(int, int, int, epoll_event*)>("epoll_ctl");
  return how == EPOLL_CTL_ADD && fails_by_errno("epoll_ctl", {ENOMEM, ENOSPC}) ? -1 : real(poll, how, fd, event);
}
int timerfd_create(clockid_t clock, int flags) noexcept {
  static auto* const real = hidden<int(clockid_t, int)>("timerfd_create");
  return fails_by_errno("timerfd_create", {EMFILE, ENFILE, ENOMEM}) ? -1 : real(clock, flags);
}
int eventfd(unsigned count, int flags) noexcept {
  static auto* const real = hidden<int(unsigned, int)>("eventfd");
  return fails_by_errno("eventfd", {EMFILE, ENFILE, ENOMEM}) ? -1 : real(count, flags);
}
int pipe(int fds[2]) noexcept {
  static auto* const real = hidden<int(int*)>("pipe");
  return fails_by_errno("pipe", {EMFILE, ENFILE}) ? -1 : real(fds);
}
int pipe2(int fds[2], int flags) noexcept {
  static auto* const real = hidden<int(int*, int)>("pipe2");
  return fails_by_errno("pipe2", {EMFILE, ENFILE}) ? -1 : real(fds, flags);
}
int dup(int fd) noexcept {
  static auto* const real = hidden<int(int)>("dup");
  return fails_by_errno("dup", {EMFILE}) ? -1 : real(fd);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* argument) noexcept {
  static auto* const real = hidden<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails_by_errno("pthread_create", {EAGAIN}) ? EAGAIN : real(thread, how, body, argument);
}
int madvise(void* at, std::size_t bytes, int advice) noexcept {
  static auto* const real = hidden<int(void*, std::size_t, int)>("madvise");
  return fails_by_errno("madvise", {ENOMEM, EINVAL}) ? -1 : real(at, bytes, advice);
}
int statvfs(const char* path, struct statvfs* out) noexcept {
  static auto* const real = hidden<int(const char*, struct statvfs*)>("statvfs");
  return fails_by_errno("statvfs", {EACCES, ENOMEM}) ? -1 : real(path, out);
}
ssize_t process_vm_readv(pid_t pid, const iovec* to, unsigned long n, const iovec* from, unsigned long m,
                         unsigned long flags) noexcept {
  static auto* const real = hidden<ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                           unsigned long)>("process_vm_readv");
  return fails_by_errno("process_vm_readv", {ENOMEM, EPERM}) ? -1 : real(pid, to, n, from, m, flags);
}
ssize_t process_vm_writev(pid_t pid, const iovec* from, unsigned long n, const iovec* to, unsigned long m,
                          unsigned long flags) noexcept {
  static auto* const real = hidden<ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                           unsigned long)>("process_vm_writev");
  return fails_by_errno("process_vm_writev", {ENOMEM, EPERM}) ? -1 : real(pid, from, n, to, m, flags);
}

// Those that libc has no wrapper for. A futex that fails is no shortage.
long syscall(long number, ...) noexcept {
  static auto* const real = hidden<long(long, ...)>("syscall");
  va_list more;
  va_start(more, number);
  long a[6];
  for (long& x : a) x = va_arg(more, long);
  va_end(more);
  if (number == SYS_pidfd_open && fails_by_errno("pidfd_open", {EMFILE, ENFILE, ENOMEM})) return -1;
  if (number == SYS_membarrier && fails_by_errno("membarrier", {EPERM, ENOSYS})) return -1;
  if (number == SYS_memfd_create && fails_by_errno("memfd_create", {EMFILE, ENOMEM})) return -1;
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"
