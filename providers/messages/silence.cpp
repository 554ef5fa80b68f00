#include "providers/messages/silence.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::messages {
namespace {

constexpr int idle_seconds = 1, probe_seconds = 1;  // the shortest that the kernel knows
// A lost packet or two is no silence. A connection that is being made repeats itself after 1, 3 and 7 seconds.
constexpr int least_attempts = 2, least_greetings = 3;
constexpr int deepest = 4;  // of epoll descriptors in each other; the kernel's own limit is near

int option(int fd, int level, int name) noexcept {
  int value = -1;
  socklen_t bytes = sizeof value;
  return ::getsockopt(fd, level, name, &value, &bytes) == 0 ? value : -1;
}

void set_option(int fd, int level, int name, int value) noexcept { ::setsockopt(fd, level, name, &value, sizeof value); }

// The lines of /proc/self/fdinfo/<fd> of an epoll descriptor that name what it watches: "tfd:   17 events: ...".
bool walk(int epoll_fd, int depth, void (*f)(int, void*), void* context) noexcept {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll_fd);
  const int info = ::open(path, O_RDONLY | O_CLOEXEC);
  if (info < 0) return false;
  bool whole = true;
  char text[2048];
  std::size_t kept = 0;
  for (;;) {
    const ssize_t n = ::read(info, text + kept, sizeof text - kept);
    if (n <= 0) {
      whole = whole && n == 0;
      break;
    }
    char* const end = text + kept + n;
    char* line = text;
    for (char* stop; (stop = static_cast<char*>(std::memchr(line, '\n', static_cast<std::size_t>(end - line)))); line = stop + 1) {
      *stop = '\0';
      if (std::strncmp(line, "tfd:", 4) != 0) continue;
      const int fd = static_cast<int>(std::strtol(line + 4, nullptr, 10));
      if (option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP) f(fd, context);
      else if (depth < deepest && option(fd, SOL_SOCKET, SO_TYPE) < 0) walk(fd, depth + 1, f, context);
    }
    kept = static_cast<std::size_t>(end - line);
    if (kept == sizeof text) kept = 0;  // no line of ours is so long
    std::memmove(text, line, kept);
  }
  ::close(info);
  return whole;
}

bool silent(const tcp_info& now) noexcept {
  if (now.tcpi_state == TCP_SYN_SENT) return now.tcpi_retransmits >= least_greetings;
  if (now.tcpi_state != TCP_ESTABLISHED && now.tcpi_state != TCP_CLOSE_WAIT) return false;
  const bool asked = now.tcpi_retransmits >= least_attempts || now.tcpi_probes >= least_attempts;
  return asked && std::chrono::milliseconds(now.tcpi_last_ack_recv) >= longest_silence;
}

// A connection is judged from the second look on: until then nobody may have probed it for long.
void judge(int fd, void* broken) noexcept {
  if (option(fd, SOL_SOCKET, SO_KEEPALIVE) != 1 || option(fd, IPPROTO_TCP, TCP_KEEPIDLE) != idle_seconds) {
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    return;
  }
  tcp_info now{};
  socklen_t bytes = sizeof now;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &now, &bytes) != 0 || !silent(now)) return;
  if (::shutdown(fd, SHUT_RDWR) == 0) ++*static_cast<std::uint32_t*>(broken);
}

}  // namespace

bool for_each_connection(int epoll_fd, void (*f)(int socket, void* context), void* context) noexcept {
  return walk(epoll_fd, 0, f, context);
}

void silence_watch::look_now(int epoll_fd) noexcept { for_each_connection(epoll_fd, judge, &broken_); }

}  // namespace tutti::messages
