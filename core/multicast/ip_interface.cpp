#include "core/multicast/ip_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include "core/base/hash.h"
#include "core/base/listing.h"

namespace tutti {
namespace {

sockaddr_in socket_address(std::uint32_t address, std::uint16_t port) noexcept {
  sockaddr_in a{};
  a.sin_family = AF_INET, a.sin_port = htons(port), a.sin_addr.s_addr = htonl(address);
  return a;
}

std::uint32_t mtu_of(int socket, const char* name) noexcept {
  ifreq request{};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  return ::ioctl(socket, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0 ? static_cast<std::uint32_t>(request.ifr_mtu)
                                                                          : 1500;
}

// The address from which the kernel would send to this one; 0: it has no route.
std::uint32_t source_towards(std::uint32_t address) noexcept {
  const int s = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0) return 0;
  const sockaddr_in to = socket_address(address, 9);  // nothing is sent
  sockaddr_in from{};
  socklen_t bytes = sizeof from;
  const bool routed = ::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                      ::getsockname(s, reinterpret_cast<sockaddr*>(&from), &bytes) == 0;
  ::close(s);
  return routed ? ntohl(from.sin_addr.s_addr) : 0;
}

std::string names_of(std::span<const ip_interface> all) {
  std::string text;
  for (const ip_interface& i : all) add_to_list(text, i.name + " (" + ip_text(i.address) + ")");
  return text.empty() ? "none" : text;
}

}  // namespace

std::string ip_text(std::uint32_t address) {
  char text[INET_ADDRSTRLEN];
  const in_addr a{htonl(address)};
  return ::inet_ntop(AF_INET, &a, text, sizeof text) ? text : "?";
}

std::vector<ip_interface> ip_interfaces() {
  struct found {  // let go of where memory for the result runs short, too
    int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifaddrs* list = nullptr;
    ~found() {
      if (list) ::freeifaddrs(list);
      if (socket >= 0) ::close(socket);
    }
  } here;
  std::vector<ip_interface> all;
  if (here.socket >= 0 && ::getifaddrs(&here.list) == 0) {
    for (const ifaddrs* i = here.list; i; i = i->ifa_next) {
      if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !i->ifa_netmask || !(i->ifa_flags & IFF_UP)) continue;
      if (!(i->ifa_flags & (IFF_MULTICAST | IFF_LOOPBACK))) continue;
      ip_interface& made = all.emplace_back();
      made.name = i->ifa_name;
      made.index = ::if_nametoindex(i->ifa_name);
      made.address = ntohl(reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr);
      made.mask = ntohl(reinterpret_cast<const sockaddr_in*>(i->ifa_netmask)->sin_addr.s_addr);
      made.mtu = mtu_of(here.socket, i->ifa_name);
      made.loopback = i->ifa_flags & IFF_LOOPBACK;
    }
  }
  return all;
}

result<ip_interface> find_ip_interface(std::string_view called) {
  const auto all = ip_interfaces();
  for (const ip_interface& i : all)
    if (i.name == called || ip_text(i.address) == called) return i;
  return status{errc::invalid, worded("no interface that is up and can multicast has the name or address ", called,
                                      "; there are: ", names_of(all))};
}

ip_place place_of_this_process(std::span<const ip_interface> mine) {
  ip_place here;
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  struct stat net{};
  ::stat("/proc/self/ns/net", &net);
  here.network = hash::add(hash::add(hash::text(boot), net.st_ino), net.st_dev);
  for (const ip_interface& i : mine)
    if (!i.loopback && here.count < here.at.size()) here.at[here.count++] = {i.address, i.mask};
  // With loopback alone a rank still reaches those beside it.
  if (here.count == 0 && !mine.empty()) here.at[here.count++] = {mine.front().address, mine.front().mask};
  return here;
}

result<ip_interface> interface_to(std::span<const ip_interface> mine, std::uint32_t address) {
  const std::uint32_t source = source_towards(address);
  for (const ip_interface& i : mine)
    if (source && i.address == source) return i;
  return status{errc::unsupported, worded("no interface that can multicast leads to ", ip_text(address), "; there are: ",
                                          names_of(mine))};
}

result<ip_interface> interface_to(std::span<const ip_interface> mine, const ip_place& here,
                                  std::span<const ip_place* const> peers) {
  const ip_interface* loopback = nullptr;
  for (const ip_interface& i : mine)
    if (i.loopback && !loopback) loopback = &i;
  std::map<std::uint64_t, const ip_place*> elsewhere;  // one for each network namespace
  for (const ip_place* p : peers)
    if (p->network != here.network) elsewhere.emplace(p->network, p);
  if (elsewhere.empty() && loopback) return *loopback;

  const auto mine_too = [&](std::uint32_t address) {  // a bridge for containers, say, that every host has alike
    for (const ip_interface& i : mine)
      if (i.address == address) return true;
    return false;
  };
  const ip_interface* best = nullptr;
  unsigned most = 0;
  std::map<const ip_interface*, unsigned> votes;
  for (const auto& [network, peer] : elsewhere) {
    std::map<const ip_interface*, unsigned> of_this;
    for (std::uint32_t k = 0; k < peer->count; ++k) {
      if (mine_too(peer->at[k].address)) continue;
      const std::uint32_t source = source_towards(peer->at[k].address);
      for (const ip_interface& i : mine) {
        if (i.loopback || i.address != source) continue;
        const bool same_subnet = (i.address & i.mask) == (peer->at[k].address & i.mask);
        of_this[&i] = std::max(of_this[&i], same_subnet ? 2u : 1u);
      }
    }
    for (const auto& [i, vote] : of_this) votes[i] += vote;
  }
  for (const ip_interface& i : mine)  // of equal ones the first, as the kernel lists them
    if (const auto v = votes.find(&i); v != votes.end() && v->second > most) best = &i, most = v->second;
  if (best) return *best;
  return status{errc::unsupported, worded("no interface that can multicast leads to the other hosts; there are: ", names_of(mine))};
}

}  // namespace tutti
