#include "providers/messages/liveness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/errqueue.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "core/base/random.h"

namespace tutti::messages {
namespace {

static_assert(liveness::events == (std::uint32_t{EPOLLET} | EPOLLRDHUP | EPOLLIN | EPOLLOUT));

constexpr int idle_seconds = 1, probe_seconds = 1, probes = 2;

sockaddr_in socket_address(std::uint32_t address, std::uint32_t port) noexcept {
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(static_cast<std::uint16_t>(port)), a.sin_addr.s_addr = htonl(address);
  return a;
}

void set_option(int fd, int level, int name, int value) noexcept { ::setsockopt(fd, level, name, &value, sizeof value); }

// Whether its end is a reset. What is accepted inherits it, so that there is no moment in which the end of this process would
// look like an outsider's orderly one.
void end_by_reset(int fd, bool resets) noexcept {
  const linger how{resets, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

// Which of the peer's addresses to take: one on a subnet of mine before any other. One that is also mine means this host,
// as those of bridges for containers do, which are alike on every host; 0: none is left.
struct choice {
  std::uint32_t address = 0;
  bool beside = false;
};

choice choose(const ip_place& mine, const ip_place& peer) noexcept {
  choice any;
  const auto* const my_end = mine.at.begin() + std::min<std::size_t>(mine.count, mine.at.size());
  const auto* const end = peer.at.begin() + std::min<std::size_t>(peer.count, peer.at.size());
  for (const auto* at = peer.at.begin(); at != end; ++at) {
    if (mine.network == peer.network) return {at->address, true};
    const auto is_mine = [&](const auto& m) { return m.address == at->address; };
    const auto beside = [&](const auto& m) { return (m.address & m.mask) == (at->address & m.mask); };
    if (std::any_of(mine.at.begin(), my_end, is_mine)) continue;
    if (std::any_of(mine.at.begin(), my_end, beside)) return {at->address, true};
    if (!any.address) any.address = at->address;
  }
  return any;
}

// Who refused: a kernel where nobody listens answers by a reset, a firewall by ICMP (if it does not forge a reset).
bool by_icmp(int socket) noexcept {
  alignas(cmsghdr) char room[256];
  char packet[128];
  iovec into{packet, sizeof packet};
  msghdr m{};
  m.msg_iov = &into, m.msg_iovlen = 1;
  m.msg_control = room, m.msg_controllen = sizeof room;
  if (::recvmsg(socket, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR)
      return reinterpret_cast<const sock_extended_err*>(CMSG_DATA(c))->ee_origin == SO_EE_ORIGIN_ICMP;
  return false;
}

// Of the addresses of a place one; false, and nothing changed, where it has no such address. Loopback is in every place.
bool keep_one(ip_place& place, std::uint32_t address) noexcept {
  ip_place::place_address one{address, 0xff000000};
  if (address != liveness::loopback) {
    auto* const end = place.at.begin() + std::min<std::size_t>(place.count, place.at.size());
    auto* const found = std::find_if(place.at.begin(), end, [&](const auto& a) { return a.address == address; });
    if (found == end) return false;
    one = *found;
  }
  place.at = {one}, place.count = 1;
  return true;
}

}  // namespace

liveness::~liveness() { close(); }

void liveness::close() noexcept {
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
}

int liveness::answer(std::span<const std::byte> word) const noexcept {
  for (;;) {
    const int caller = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (caller >= 0) {
      (void)!::send(caller, word.data(), word.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      end_by_reset(caller, false);
      ::close(caller);
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return errno;
    }
  }
}

void liveness::say_goodbye() noexcept {
  if (listener_ >= 0) answer(std::as_bytes(std::span{here_.key}));
  close();
}

void liveness::listen(std::uint32_t peers, std::uint32_t only) {
  std::uint32_t kept = 0;
  std::ifstream{"/proc/sys/net/core/somaxconn"} >> kept;
  here_.place = place_of_this_process(ip_interfaces());
  if (only && !keep_one(here_.place, only)) only = 0;
  if (peers > kept || here_.place.count == 0) return;
  if (!draw(here_.key)) return;
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  end_by_reset(listener_, true);
  sockaddr_in own = socket_address(only ? only : INADDR_ANY, 0);
  socklen_t bytes = sizeof own;
  if (listener_ >= 0 && ::bind(listener_, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
      ::listen(listener_, static_cast<int>(kept)) == 0 &&
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &bytes) == 0)
    here_.port = ntohs(own.sin_port);
}

liveness::attempt liveness::connect(const liveness_address& peer) const noexcept {
  const choice by = peer.port && here_.port ? choose(here_.place, peer.place) : choice{};
  const int s = by.address ? ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
  if (s < 0) return {};
  set_option(s, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
  set_option(s, IPPROTO_TCP, TCP_KEEPINTVL, probe_seconds);
  set_option(s, IPPROTO_TCP, TCP_KEEPCNT, probes);
  set_option(s, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(s, IPPROTO_IP, IP_RECVERR, 1);
  const sockaddr_in to = socket_address(by.address, peer.port);
  if (::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 || errno == EINPROGRESS)
    return {.socket = s, .beside = by.beside};
  const bool refused = errno == ECONNREFUSED;
  ::close(s);
  return {.beside = by.beside, .refused = refused};
}

// The key is found before whatever became of the connection since.
liveness::observation liveness::read(int socket, bool stood, const siphash_key& key) noexcept {
  siphash_key word{};
  const ssize_t n = ::recv(socket, word.data(), sizeof word, MSG_DONTWAIT);
  if (n > 0) return n == sizeof word && word == key ? observation::left : observation::never;
  int error = n == 0 || errno == EAGAIN ? 0 : errno;
  socklen_t bytes = sizeof error;
  tcp_info now{};
  socklen_t room = sizeof now;
  if ((error == 0 && ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) ||
      ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &now, &room) != 0)
    return observation::nothing;
  if (now.tcpi_state == TCP_ESTABLISHED) return observation::stands;
  if (now.tcpi_state == TCP_SYN_SENT) return observation::nothing;
  if (now.tcpi_state == TCP_CLOSE_WAIT && error == 0) return observation::never;  // it was accepted, and by an outsider
  // Reset or ended before anyone saw it stand: what was never there is refused, or not reached at all.
  if (error == ECONNRESET || error == EPIPE || error == 0) return observation::ended;
  if (stood) return observation::silent;
  return error == ECONNREFUSED && !by_icmp(socket) ? observation::refused : observation::never;
}

}  // namespace tutti::messages
