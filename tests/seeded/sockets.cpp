#include "tests/seeded/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "tests/seeded/calls.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_way = 3ms;  // of a packet

std::map<int, std::weak_ptr<listener>> ports;
int next_port = 20000;

// A packet's way to whoever holds `s`.
void later(const std::shared_ptr<stream>& s, std::function<void(stream&)> what) {
  world->at(world->now() + 10us + world->random.time(longest_way), [s, what = std::move(what)] {
    what(*s);
    ++s->events;
  });
}

}  // namespace

void forget_sockets() { ports.clear(), next_port = 20000; }

void bind_listener(const std::shared_ptr<listener>& l) {
  l->port = next_port++;
  ports[l->port] = l;
}

void connect_stream(const std::shared_ptr<stream>& s, int host, int port) {
  s->now = stream::state::connecting;
  later(s, [weak = std::weak_ptr{s}, host, port](stream& mine) {
    const auto found = ports.find(port);
    const auto l = found == ports.end() ? nullptr : found->second.lock();
    if (world->silent_hosts.count(host)) return;
    if (!l || !l->listens || l->host != host) {
      mine.error = ECONNREFUSED, mine.now = stream::state::closed;
      return;
    }
    mine.now = stream::state::standing;
    l->waiting.push_back(weak.lock());
    ++l->events;
  });
}

void listener::closed() {
  listens = false;
  for (const auto& s : waiting) {
    if (world->silent_hosts.count(host)) {  // probes tell
      world->at(world->now() + 3s + world->random.time(500ms), [s] {
        s->error = ETIMEDOUT, s->now = stream::state::closed;
        ++s->events;
      });
      continue;
    }
    later(s, [](stream& t) { t.error = ECONNRESET, t.now = stream::state::closed; });
  }
  waiting.clear();
}

// The accepted end goes: whatever it has sent comes first.
void stream::closed() {
  if (const auto o = other.lock()) {
    const auto arrives = world->now() + longest_way + 20us;
    world->at(arrives, [o, reset = resets] {
      if (o->now == state::standing && reset) o->error = ECONNRESET, o->now = state::closed;
      else if (o->now == state::standing) o->now = state::ended_by_peer;
      ++o->events;
    });
  }
}

}  // namespace tutti::test

using namespace tutti::test;
using namespace std::chrono_literals;

extern "C" {

int __wrap_socket(int, int, int) {
  world->step();
  return open_new<stream>();
}

int __wrap_bind(int, const sockaddr*, socklen_t) { return 0; }
int __wrap_shutdown(int, int) { return 0; }

int __wrap_setsockopt(int fd, int level, int name, const void* value, socklen_t) {
  const auto s = level == SOL_SOCKET && name == SO_LINGER ? find_as<stream>(fd) : nullptr;
  if (s) s->resets = static_cast<const linger*>(value)->l_onoff;
  return 0;
}

int __wrap_listen(int fd, int) {
  world->step();
  const in_kernel k;
  const auto found = k.caller().fakes.find(fd);
  if (found == k.caller().fakes.end()) return failed(EBADF);
  const auto l = std::make_shared<listener>();
  l->host = k.caller().host, l->listens = true;
  l->resets = std::static_pointer_cast<stream>(found->second)->resets;
  bind_listener(l);
  found->second = l;
  return 0;
}

int __wrap_getsockname(int fd, sockaddr* to, socklen_t*) {
  const auto l = find_as<listener>(fd);
  if (!l) return failed(EBADF);
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(static_cast<std::uint16_t>(l->port));
  std::memcpy(to, &a, sizeof a);
  return 0;
}

int __wrap_connect(int fd, const sockaddr* to, socklen_t) {
  world->step();
  const auto s = find_as<stream>(fd);
  if (!s) return failed(EBADF);
  sockaddr_in a;
  std::memcpy(&a, to, sizeof a);
  const in_kernel k;
  connect_stream(s, static_cast<int>(ntohl(a.sin_addr.s_addr) & 0xff) - 1, ntohs(a.sin_port));
  return failed(EINPROGRESS);
}

int __wrap_accept4(int fd, sockaddr*, socklen_t*, int) {
  world->step();
  const auto l = find_as<listener>(fd);
  if (!l) return failed(EBADF);
  if (l->waiting.empty()) return failed(EAGAIN);
  return open_new<stream>([&](stream& mine) {
    mine.now = stream::state::standing;
    mine.resets = l->resets;
    mine.other = l->waiting.front();
    l->waiting.pop_front();
  });
}

ssize_t __wrap_send(int fd, const void* what, std::size_t bytes, int) {
  world->step();
  const auto s = find_as<stream>(fd);
  if (!s) return failed(EBADF);
  const in_kernel k;
  if (const auto o = s->other.lock()) {
    const auto* from = static_cast<const std::byte*>(what);
    world->at(world->now() + world->random.time(3ms), [o, sent = std::vector<std::byte>(from, from + bytes)] {
      o->arrived.insert(o->arrived.end(), sent.begin(), sent.end());
      ++o->events;
    });
  }
  return static_cast<ssize_t>(bytes);
}

ssize_t __wrap_recv(int fd, void* to, std::size_t most, int) {
  world->step();
  const auto s = find_as<stream>(fd);
  if (!s) return failed(EBADF);
  const in_kernel k;
  if (!s->arrived.empty()) {
    const std::size_t n = std::min(most, s->arrived.size());
    std::memcpy(to, s->arrived.data(), n);
    s->arrived.erase(s->arrived.begin(), s->arrived.begin() + static_cast<std::ptrdiff_t>(n));
    return static_cast<ssize_t>(n);
  }
  if (s->error) return failed(std::exchange(s->error, 0));
  if (s->now == stream::state::ended_by_peer || s->now == stream::state::closed) return 0;
  return failed(EAGAIN);
}

ssize_t __wrap_recvmsg(int, msghdr*, int) { return failed(EAGAIN); }

int __wrap_getsockopt(int fd, int level, int name, void* to, socklen_t*) {
  const auto s = find_as<stream>(fd);
  if (!s) return failed(EBADF);
  if (level == SOL_SOCKET && name == SO_ERROR) {
    const int error = std::exchange(s->error, 0);
    std::memcpy(to, &error, sizeof error);
    return 0;
  }
  if (level != IPPROTO_TCP || name != TCP_INFO) return failed(ENOPROTOOPT);
  tcp_info info{};
  switch (s->now) {
    case stream::state::connecting: info.tcpi_state = TCP_SYN_SENT; break;
    case stream::state::standing: info.tcpi_state = TCP_ESTABLISHED; break;
    case stream::state::ended_by_peer: info.tcpi_state = TCP_CLOSE_WAIT; break;
    default: info.tcpi_state = TCP_CLOSE;
  }
  std::memcpy(to, &info, sizeof info);
  return 0;
}

}  // extern "C"
