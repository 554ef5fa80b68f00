#include "core/multicast/ip_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace tutti {
namespace {

constexpr int wanted_buffer = 4 << 20;

sockaddr_in as_socket_address(ip_endpoint e) noexcept {
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(e.port), a.sin_addr.s_addr = htonl(e.address);
  return a;
}

status refused(const std::string& what, const std::string& remedy = {}) {
  const int error = errno;
  const errc code = error == EADDRINUSE || error == ENOBUFS || error == ENOMEM || error == EMFILE || error == ENFILE
                        ? errc::no_resource : errc::unavailable;
  return {code, what + ": " + std::strerror(error) + remedy, no_rank, error};
}

std::string most_memberships() {
  std::string value;
  std::ifstream{"/proc/sys/net/ipv4/igmp_max_memberships"} >> value;
  return value.empty() ? "unknown" : value;
}

template <class T>
bool set(int fd, int level, int option, const T& value) noexcept {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// As much as the kernel gives: beyond net.core.rmem_max only to the privileged.
void enlarge(int fd, int forced, int option) noexcept {
  if (!set(fd, SOL_SOCKET, forced, wanted_buffer)) set(fd, SOL_SOCKET, option, wanted_buffer);
}

unique_fd open_socket() noexcept { return unique_fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)}; }

}  // namespace

result<ip_socket> ip_socket::listening(ip_endpoint group, const ip_interface& through) {
  const std::string where = ip_text(group.address) + " port " + std::to_string(group.port) + " on " + through.name;
  ip_socket s;
  s.fd_ = open_socket();
  if (!s.fd_) return refused("a socket for multicast group " + where);
  // Bound to the group's address, it hears nothing that is sent to other groups of this port.
  const sockaddr_in own = as_socket_address(group);
  if (!set(s.fd(), SOL_SOCKET, SO_REUSEADDR, 1) ||
      ::bind(s.fd(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    return refused("multicast group " + where);
  set(s.fd(), IPPROTO_IP, IP_MULTICAST_ALL, 0);
  enlarge(s.fd(), SO_RCVBUFFORCE, SO_RCVBUF);
  ip_mreqn membership{};
  membership.imr_multiaddr.s_addr = htonl(group.address);
  membership.imr_ifindex = static_cast<int>(through.index);
  if (!set(s.fd(), IPPROTO_IP, IP_ADD_MEMBERSHIP, membership))
    return refused("joining multicast group " + where,
                   errno == ENOBUFS ? "; raise net.ipv4.igmp_max_memberships, which is " + most_memberships()
                   : errno == ENODEV ? "; choose another interface by TUTTI_MULTICAST_INTERFACE" : "");
  return s;
}

result<ip_socket> ip_socket::talking(const ip_interface& through, std::uint32_t hops, bool loop) {
  const std::string where = through.name + " (" + ip_text(through.address) + ")";
  ip_socket s;
  s.fd_ = open_socket();
  if (!s.fd_) return refused("a socket for multicast through " + where);
  const sockaddr_in own = as_socket_address({through.address, 0});
  if (::bind(s.fd(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    return refused("a socket for multicast through " + where);
  ip_mreqn interface{};
  interface.imr_ifindex = static_cast<int>(through.index);
  if (!set(s.fd(), IPPROTO_IP, IP_MULTICAST_IF, interface) ||
      !set(s.fd(), IPPROTO_IP, IP_MULTICAST_TTL, static_cast<int>(hops)) ||
      !set(s.fd(), IPPROTO_IP, IP_MULTICAST_LOOP, static_cast<int>(loop)))
    return refused("multicast through " + where, "; choose another interface by TUTTI_MULTICAST_INTERFACE");
  enlarge(s.fd(), SO_SNDBUFFORCE, SO_SNDBUF);
  return s;
}

ip_socket::outcome ip_socket::send(ip_endpoint to, std::span<const std::byte> head,
                                   std::span<const std::byte> payload) noexcept {
  sockaddr_in target = as_socket_address(to);
  iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                    {const_cast<std::byte*>(payload.data()), payload.size()}};
  msghdr m{};
  m.msg_name = &target, m.msg_namelen = sizeof target;
  m.msg_iov = parts, m.msg_iovlen = payload.empty() ? 1 : 2;
  for (;;) {
    if (::sendmsg(fd(), &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return outcome::sent;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? outcome::full : outcome::sent;
  }
}

std::ptrdiff_t ip_socket::receive(std::span<std::byte> room, ip_endpoint& from) noexcept {
  sockaddr_in sender{};
  socklen_t length = sizeof sender;
  for (;;) {
    const auto n = ::recvfrom(fd(), room.data(), room.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&sender), &length);
    if (n >= 0) {
      from = {ntohl(sender.sin_addr.s_addr), ntohs(sender.sin_port)};
      return n;
    }
    // A refusal by an earlier receiver of this socket (ECONNREFUSED) is told once and is none of ours.
    if (errno != EINTR && errno != ECONNREFUSED) return -1;
  }
}

ip_endpoint ip_socket::own() const noexcept {
  sockaddr_in a{};
  socklen_t length = sizeof a;
  ::getsockname(fd(), reinterpret_cast<sockaddr*>(&a), &length);
  return {ntohl(a.sin_addr.s_addr), ntohs(a.sin_port)};
}

std::uint32_t ip_socket::receive_buffer() noexcept {
  ip_socket s;
  s.fd_ = open_socket();
  if (!s.fd_) return 0;
  enlarge(s.fd(), SO_RCVBUFFORCE, SO_RCVBUF);
  int bytes = 0;
  socklen_t length = sizeof bytes;
  return ::getsockopt(s.fd(), SOL_SOCKET, SO_RCVBUF, &bytes, &length) == 0 && bytes > 0 ? static_cast<std::uint32_t>(bytes)
                                                                                      : 0;
}

}  // namespace tutti
