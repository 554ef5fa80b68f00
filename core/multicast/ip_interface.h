// This host's IPv4 interfaces, and which of them reaches a group of peers. For core/multicast/ip_multicast and providers/messages.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace tutti {

// Addresses and masks are in host byte order.
struct ip_interface {
  std::string name;
  unsigned index = 0;
  std::uint32_t address = 0, mask = 0;
  std::uint32_t mtu = 1500;
  bool loopback = false;
};

// Those that are up and can multicast; loopback can, though Linux does not flag it.
std::vector<ip_interface> ip_interfaces();

// By name ("eth0") or address ("10.0.0.7"). Invalid: none is called so; the text names those that exist.
result<ip_interface> find_ip_interface(std::string_view called);

std::string ip_text(std::uint32_t address);  // "10.0.0.7"

// What a rank tells the others about its place in the networks. Fixed size: it travels as it is.
struct ip_place {
  static constexpr std::uint32_t current = 1;
  struct place_address {
    std::uint32_t address = 0, mask = 0;
    bool operator==(const place_address&) const = default;
  };
  std::uint32_t version = current;
  std::uint32_t count = 0;              // of `at`; 0: this rank cannot multicast
  std::uint64_t network = 0;            // of its network namespace: ranks with equal ones reach each other by loopback
  std::array<place_address, 6> at{};    // without loopback
  bool operator==(const ip_place&) const = default;
};
ip_place place_of_this_process(std::span<const ip_interface>);

// The interface by which this process reaches the most peers, by the kernel's routes: an interface on a peer's own subnet
// counts twice as much as one that only has a route to the peer. Loopback where all share this network namespace.
// Unsupported: no interface reaches any; the text says what was tried.
result<ip_interface> interface_to(std::span<const ip_interface> mine, const ip_place& here,
                                  std::span<const ip_place* const> peers);
// The interface by which the kernel sends to this address.
result<ip_interface> interface_to(std::span<const ip_interface> mine, std::uint32_t address);

}  // namespace tutti
