// Choosing. A port is taken if it is active and has an address that its link layer can use. On RoCE that is a GID of
// version 2 (routable, over UDP) before one of version 1, and one that stands for an IPv4 address before others, since
// those are the same in every rank's table and need no neighbour discovery. On InfiniBand LIDs address within a subnet
// and GID 0 between subnets.
#include "providers/verbs/device.h"

#include <arpa/inet.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <hwloc/linux.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/base/listing.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

struct list_closer {
  void operator()(ibv_device** l) const noexcept { ibv_free_device_list(l); }
};
using device_list = std::unique_ptr<ibv_device*, list_closer>;

result<device_list> all_devices(int& count) {
  // Before the first registration: on kernels before 5.12 a child of fork() would else take registered pages from its
  // parent. Newer ones copy them. There rdma-core 44 would still keep registered pages out of children, which then must not touch
  // what their parent has registered, be it only for the next time.
  static std::once_flag once;
  std::call_once(once, [] {
    if (ibv_is_fork_initialized() != IBV_FORK_UNNEEDED) ibv_fork_init();
  });
  device_list all{ibv_get_device_list(&count)};
  if (all && count > 0) return all;
  const int error = all || errno == ENOSYS ? 0 : errno;  // ENOSYS: the kernel has no ib_uverbs
  return status{errc::unavailable, worded("no RDMA device", (error ? std::string{": "} + std::strerror(error) : "")),
                no_rank, error};
}

bool is_near(const ibv_device* device) {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return true;
  const std::string path = std::string{device->ibdev_path} + "/device/local_cpus";
  const auto local = hwloc_bitmap_alloc(), allowed = hwloc_bitmap_alloc();
  // Neither function needs a topology.
  const bool known = hwloc_linux_read_path_as_cpumask(path.c_str(), local) == 0 && !hwloc_bitmap_iszero(local) &&
                     hwloc_cpuset_from_glibc_sched_affinity(nullptr, allowed, &mine, sizeof mine) == 0;
  const bool near = !known || hwloc_bitmap_intersects(local, allowed);
  hwloc_bitmap_free(local);
  hwloc_bitmap_free(allowed);
  return near;
}

std::uint64_t megabits(const ibv_port_attr& p) noexcept {
  const unsigned lanes = p.active_width == 1 ? 1 : p.active_width == 2 ? 4 : p.active_width == 4 ? 8
                         : p.active_width == 8 ? 12 : p.active_width == 16 ? 2 : 1;
  std::uint64_t lane = 2500;
  switch (p.active_speed) {
    case 2: lane = 5000; break;
    case 4: case 8: lane = 10000; break;
    case 16: lane = 14000; break;
    case 32: lane = 25000; break;
    case 64: lane = 50000; break;
    case 128: lane = 100000; break;
  }
  return lanes * lane;
}

bool is_ipv4(const ibv_gid& g) noexcept { return IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(g.raw)); }
bool is_link_local(const ibv_gid& g) noexcept { return g.raw[0] == 0xfe && (g.raw[1] & 0xc0) == 0x80; }

int rank_of_gid(const ibv_gid_entry& g) noexcept {  // larger is better
  const bool second = g.gid_type == IBV_GID_TYPE_ROCE_V2;
  return (second ? 10 : 0) + (is_ipv4(g.gid) ? 3 : is_link_local(g.gid) ? 1 : 2);
}

// The network of an IPv4 address by its interface's mask, or the first half of an IPv6 address.
std::string network_of(const ibv_gid& gid) {
  if (!is_ipv4(gid)) return std::string{reinterpret_cast<const char*>(gid.raw), 8};
  in_addr address;
  std::memcpy(&address, gid.raw + 12, 4);
  std::string network{reinterpret_cast<const char*>(gid.raw + 12), 4};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return network;
  for (const ifaddrs* i = all; i; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !i->ifa_netmask) continue;
    if (reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr != address.s_addr) continue;
    const in_addr_t prefix = address.s_addr & reinterpret_cast<const sockaddr_in*>(i->ifa_netmask)->sin_addr.s_addr;
    network.assign(reinterpret_cast<const char*>(&prefix), sizeof prefix);
  }
  ::freeifaddrs(all);
  return network;
}

// Fills in the GID, or why there is none.
void choose_gid(ibv_context* context, const ibv_port_attr& attributes, int requested, found_port& p) {
  if (p.ethernet || requested >= 0) {
    int best = -1;
    for (int i = 0; i < attributes.gid_tbl_len; ++i) {
      ibv_gid_entry entry{};
      if ((requested >= 0 && i != requested) || ibv_query_gid_ex(context, p.port, static_cast<unsigned>(i), &entry, 0) != 0)
        continue;
      if (const int rank = rank_of_gid(entry); requested >= 0 || rank > best)
        best = rank, p.gid = entry.gid, p.gid_index = i;
    }
    if (best < 0)
      p.why_not = requested >= 0 ? "has no GID " + std::to_string(requested) : "has no GID: give its network interface an address";
  } else if (ibv_query_gid(context, static_cast<std::uint8_t>(p.port), 0, &p.gid) != 0) {
    p.why_not = "its GID cannot be read";
  } else if (attributes.lid == 0) {
    p.why_not = "has no LID: no subnet manager has configured it";
  }
  if (p.why_not.empty())
    p.network = p.ethernet ? network_of(p.gid) : std::string{reinterpret_cast<const char*>(p.gid.raw), 8};
}

found_port look_at(ibv_context* context, ibv_device* device, unsigned port, int requested_gid) {
  found_port p;
  p.device = ibv_get_device_name(device), p.port = port, p.near = is_near(device);
  p.software = ::access((std::string{device->ibdev_path} + "/device").c_str(), F_OK) != 0;
  ibv_port_attr attributes{};
  if (device->transport_type == IBV_TRANSPORT_IWARP) {
    p.why_not = "is iWARP, whose connections need rdma_cm";
  } else if (const int e = ibv_query_port(context, static_cast<std::uint8_t>(port), &attributes); e != 0) {
    p.why_not = std::string{"cannot be queried: "} + std::strerror(e);
  } else if (attributes.state != IBV_PORT_ACTIVE) {
    p.why_not = std::string{"is "} + ibv_port_state_str(attributes.state) + ", not active";
  } else {
    p.ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
    p.bandwidth = megabits(attributes);
    choose_gid(context, attributes, requested_gid, p);
  }
  return p;
}

bool alike(const found_port& a, const found_port& b) noexcept {
  return a.near == b.near && a.bandwidth == b.bandwidth && a.ethernet == b.ethernet && a.network == b.network;
}

}  // namespace

result<device_request> parse_device(std::string_view text) {
  const status wrong{errc::invalid, worded("\"", text,
                                           "\" is no device of verbs: write NAME[/PORT][,gid=INDEX][,relaxed], like mlx5_0/1,gid=3")};
  device_request asked;
  for (bool first = true; !text.empty() || first; first = false) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const auto number = [&](std::string_view digits, auto& out) {
      const auto [end, e] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
      return e == std::errc{} && end == digits.data() + digits.size();
    };
    if (word == "relaxed") {
      asked.relaxed = true;
    } else if (word.starts_with("gid=")) {
      if (!number(word.substr(4), asked.gid) || asked.gid < 0) return wrong;
    } else if (first) {
      const auto slash = word.find('/');
      asked.name = word.substr(0, slash);
      if (slash != word.npos && (!number(word.substr(slash + 1), asked.port) || asked.port == 0)) return wrong;
    } else {
      return wrong;
    }
  }
  return asked;
}

result<std::vector<found_port>> survey(int requested_gid) {
  int count = 0;
  auto devices = all_devices(count);
  if (!devices) return devices.error();
  std::vector<found_port> all;
  for (int i = 0; i < count; ++i) {
    ibv_device* device = devices->get()[i];
    const std::unique_ptr<ibv_context, context_closer> context{ibv_open_device(device)};
    ibv_device_attr limits{};
    if (!context || ibv_query_device(context.get(), &limits) != 0) {
      found_port p;
      p.device = ibv_get_device_name(device), p.port = 1;
      p.why_not = std::string{"cannot be opened: "} + std::strerror(errno);
      all.push_back(std::move(p));
      continue;
    }
    for (unsigned port = 1; port <= limits.phys_port_cnt; ++port)
      all.push_back(look_at(context.get(), device, port, requested_gid));
  }
  return all;
}

std::vector<const found_port*> candidates(const std::vector<found_port>& all) {
  std::vector<const found_port*> usable;
  for (const found_port& p : all)
    if (p.why_not.empty()) usable.push_back(&p);
  std::stable_sort(usable.begin(), usable.end(), [](const found_port* a, const found_port* b) {
    return a->near != b->near ? a->near : a->bandwidth > b->bandwidth;
  });
  return usable;
}

result<found_port> choose(const std::vector<found_port>& all, const device_request& asked, std::uint32_t rank) {
  const auto usable = candidates(all);
  if (asked.name.empty() && !usable.empty()) {
    std::vector<const found_port*> equals;
    for (const found_port* p : usable)
      if (alike(*p, *usable.front())) equals.push_back(p);
    return *equals[rank % equals.size()];
  }
  std::string reasons;
  for (const found_port& p : all) {
    const bool requested = asked.name.empty() || (p.device == asked.name && (asked.port == 0 || p.port == asked.port));
    if (requested && p.why_not.empty()) return p;
    if (requested || p.why_not.empty())
      add_to_list(reasons, p.name() + " " + (p.why_not.empty() ? "could be used" : p.why_not), "; ");
  }
  return status{errc::unavailable, worded((asked.name.empty() ? std::string{"no port can be used"}
                                                      : "device \"" + asked.name + "\" cannot be used"), ": ", (reasons.empty() ? "there is no such port" : reasons))};
}

std::string adapter::text() const { return "port " + std::to_string(where.port) + " of " + where.device; }

result<adapter> open_adapter(const device_request& asked, std::uint32_t rank) {
  const auto all = survey(asked.gid);
  if (!all) return all.error();
  auto chosen = choose(*all, asked, rank);
  if (!chosen) return chosen.error();
  int count = 0;
  auto devices = all_devices(count);
  if (!devices) return devices.error();
  adapter a;
  a.where = std::move(*chosen);
  for (int i = 0; i < count; ++i)
    if (a.where.device == ibv_get_device_name(devices->get()[i])) a.context.reset(ibv_open_device(devices->get()[i]));
  if (!a.context) return os_error(worded("opening ", a.where.device), errno);
  if (const int e = ibv_query_device(a.context.get(), &a.limits)) return os_error(worded("querying ", a.where.device), e);
  if (const int e = ibv_query_port(a.context.get(), static_cast<std::uint8_t>(a.where.port), &a.port))
    return os_error(worded("querying ", a.text()), e);
  return a;
}

}  // namespace tutti::verbs
