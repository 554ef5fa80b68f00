#include "providers/verbs/membership.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

constexpr std::uint32_t own_qkey = 0x01234567;  // that of rdma_cm's groups, so that both ways of joining meet
constexpr std::uint8_t hops = 8;

union any_address {
  sockaddr base;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

bool is_ipv4(const std::uint8_t* gid) noexcept { return IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(gid)); }

// The IP address that stands for a GID.
any_address ip_of(const std::uint8_t* gid, std::uint32_t interface) noexcept {
  any_address a{};
  if (is_ipv4(gid)) {
    a.v4.sin_family = AF_INET;
    std::memcpy(&a.v4.sin_addr, gid + 12, 4);
  } else {
    a.v6.sin6_family = AF_INET6;
    std::memcpy(&a.v6.sin6_addr, gid, 16);
    a.v6.sin6_scope_id = interface;
  }
  return a;
}

// The network interface of a RoCE port, by its GID.
std::uint32_t interface_of(const adapter& a) noexcept {
  ibv_gid_entry entry{};
  if (ibv_query_gid_ex(a.context.get(), a.where.port, static_cast<std::uint32_t>(a.where.gid_index), &entry, 0) != 0) return 0;
  return entry.ndev_ifindex;
}

// An address of the IPoIB interface of an InfiniBand port.
result<any_address> ipoib_address(const adapter& a) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  ifaddrs* all = nullptr;
  ::getifaddrs(&all);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> closer{all, &::freeifaddrs};
  for (const auto& net : fs::directory_iterator{fs::path{a.context->device->ibdev_path} / "device" / "net", ignored}) {
    unsigned port = 0;
    std::ifstream{net.path() / "dev_port"} >> port;
    if (port + 1 != a.where.port) continue;
    for (const ifaddrs* i = all; i; i = i->ifa_next) {
      if (!i->ifa_addr || net.path().filename() != i->ifa_name || !(i->ifa_flags & IFF_UP)) continue;
      any_address found{};
      if (i->ifa_addr->sa_family == AF_INET) std::memcpy(&found.v4, i->ifa_addr, sizeof found.v4);
      else if (i->ifa_addr->sa_family == AF_INET6) std::memcpy(&found.v6, i->ifa_addr, sizeof found.v6);
      else continue;
      return found;
    }
  }
  return status{errc::unavailable, worded("multicast on InfiniBand needs an IPoIB interface with an address on ", a.text())};
}

bool is_set(const group_address& g) noexcept {
  return std::any_of(g.gid.begin(), g.gid.end(), [](std::uint8_t b) { return b != 0; });
}

}  // namespace

group_address roce_group(const adapter& a, std::uint64_t name) noexcept {
  group_address g;
  g.qkey = own_qkey;
  if (is_ipv4(a.where.gid.raw)) {  // 239.255.0.0/16, RFC 2365
    const std::array<std::uint8_t, 16> v4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 255};
    g.gid = v4;
    g.gid[14] = static_cast<std::uint8_t>(name >> 8), g.gid[15] = static_cast<std::uint8_t>(name);
  } else {  // ff15::, transient and of the site, RFC 4291
    g.gid[0] = 0xff, g.gid[1] = 0x15;
    std::memcpy(&g.gid[8], &name, sizeof name);
  }
  return g;
}

membership::membership(membership&& o) noexcept { *this = std::move(o); }

membership& membership::operator=(membership&& o) noexcept {
  std::swap(address_, o.address_), std::swap(lid_, o.lid_), std::swap(way_, o.way_);
  std::swap(channel_, o.channel_), std::swap(id_, o.id_), std::swap(socket_, o.socket_);
  return *this;
}

membership::~membership() {
  if (id_) rdma_destroy_id(id_);  // leaves the group
  if (channel_) rdma_destroy_event_channel(channel_);
  if (socket_ >= 0) ::close(socket_);
}

result<membership> membership::join(const adapter& a, const group_address& requested, time_point deadline) {
  auto joined = join_by_cm(a, requested, deadline);
  if (!joined && a.where.ethernet && joined.error().code() == errc::unavailable) return join_by_socket(a, requested);
  return joined;
}

result<membership> membership::join_by_cm(const adapter& a, const group_address& requested, time_point deadline) {
  membership m;
  const auto failed = [&](const char* what) {
    status s = os_error(worded("joining a multicast group on ", a.text(), ": ", what), errno);
    return s.code() == errc::fabric ? status{errc::unavailable, s.text(), no_rank, s.native()} : s;
  };
  m.channel_ = rdma_create_event_channel();
  if (!m.channel_) return failed("rdma_cm");
  if (rdma_create_id(m.channel_, &m.id_, nullptr, RDMA_PS_UDP) != 0) return failed("rdma_create_id");
  any_address mine = ip_of(a.where.gid.raw, interface_of(a));
  if (!a.where.ethernet) {
    auto ipoib = ipoib_address(a);
    if (!ipoib) return ipoib.error();
    mine = *ipoib;
  }
  if (rdma_bind_addr(m.id_, &mine.base) != 0) return failed("rdma_bind_addr");
  if (!m.id_->verbs || m.id_->verbs->device->name != a.where.device || m.id_->port_num != a.where.port)
    return status{errc::unavailable, worded("rdma_cm takes another port than ", a.text(), " for its address")};
  any_address group = ip_of(requested.gid.data(), 0);
  if (!a.where.ethernet) group = {}, group.v6.sin6_family = AF_INET6, std::memcpy(&group.v6.sin6_addr, requested.gid.data(), 16);
  ::fcntl(m.channel_->fd, F_SETFL, ::fcntl(m.channel_->fd, F_GETFL) | O_NONBLOCK);
  if (rdma_join_multicast(m.id_, &group.base, nullptr) != 0) return failed("rdma_join_multicast");

  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(m.channel_, &event) != 0) {
    if (errno != EAGAIN) return failed("rdma_get_cm_event");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd p{m.channel_->fd, POLLIN, 0};
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000))) == 0)
      return status{errc::timed_out, worded("joining a multicast group on ", a.text(), ": nobody answered")};
  }
  const bool well = event->event == RDMA_CM_EVENT_MULTICAST_JOIN && event->status == 0;
  status trouble;
  if (well) {
    m.way_ = event->param.ud.ah_attr;
    std::memcpy(m.address_.gid.data(), m.way_.grh.dgid.raw, 16);
    m.address_.qkey = event->param.ud.qkey;
    m.lid_ = m.way_.dlid;
    m.way_.grh.sgid_index = static_cast<std::uint8_t>(a.where.gid_index);
    m.way_.grh.hop_limit = std::max(m.way_.grh.hop_limit, hops);
  } else {
    trouble = {errc::unavailable, worded("joining a multicast group on ", a.text(), ": ", rdma_event_str(event->event)),
               no_rank, event->status};
  }
  rdma_ack_cm_event(event);
  if (!well) return trouble;
  if (is_set(requested) && m.address_.gid != requested.gid)
    return status{errc::unavailable, worded("rdma_cm has joined another group on ", a.text(), " than the one asked for")};
  return m;
}

result<membership> membership::join_by_socket(const adapter& a, const group_address& requested) {
  membership m;
  const std::uint32_t interface = interface_of(a);
  const any_address group = ip_of(requested.gid.data(), interface);
  const bool v4 = group.base.sa_family == AF_INET;
  m.socket_ = ::socket(group.base.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int failed = m.socket_ < 0;
  if (!failed && v4) {
    ip_mreqn request{};
    request.imr_multiaddr = group.v4.sin_addr;
    std::memcpy(&request.imr_address, a.where.gid.raw + 12, 4);
    request.imr_ifindex = static_cast<int>(interface);
    failed = ::setsockopt(m.socket_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  } else if (!failed) {
    ipv6_mreq request{};
    request.ipv6mr_multiaddr = group.v6.sin6_addr;
    request.ipv6mr_interface = interface;
    failed = ::setsockopt(m.socket_, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
  }
  if (failed) return os_error(worded("joining an IP multicast group for ", a.text()), errno);
  m.address_ = requested;
  m.way_.is_global = 1;
  m.way_.port_num = static_cast<std::uint8_t>(a.where.port);
  std::memcpy(m.way_.grh.dgid.raw, requested.gid.data(), 16);
  m.way_.grh.sgid_index = static_cast<std::uint8_t>(a.where.gid_index);
  m.way_.grh.hop_limit = hops;
  return m;
}

}  // namespace tutti::verbs
