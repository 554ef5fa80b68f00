// UDP sockets of a multicast group, and what the kernel's refusals mean. Private to core/multicast/ip_multicast.
#pragma once
#include <cstdint>
#include <span>

#include "core/base/unique_fd.h"
#include "core/multicast/ip_interface.h"

namespace tutti {

struct ip_endpoint {
  std::uint32_t address = 0;  // host byte order
  std::uint16_t port = 0;
};

class ip_socket {
 public:
  // Receives what is sent to the group through that interface. Others on this host may listen as well.
  static result<ip_socket> listening(ip_endpoint group, const ip_interface&);
  // Sends to groups through that interface, and receives what is sent to it alone. `hops`: IP_MULTICAST_TTL. `loop`:
  // listeners of this host hear it too.
  static result<ip_socket> talking(const ip_interface&, std::uint32_t hops, bool loop);

  enum class outcome : std::uint8_t { sent, full };
  // A datagram that the network refuses counts as sent: it is lost, as datagrams may be.
  outcome send(ip_endpoint to, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept;
  // The length of the datagram, or -1 if there is none. A datagram longer than `room` is cut off.
  std::ptrdiff_t receive(std::span<std::byte> room, ip_endpoint& from) noexcept;

  int fd() const noexcept { return fd_.get(); }
  ip_endpoint own() const noexcept;
  // Bytes that the kernel keeps for a listening socket, its own bookkeeping included; 0: unknown.
  static std::uint32_t receive_buffer() noexcept;

 private:
  unique_fd fd_;
};

}  // namespace tutti
