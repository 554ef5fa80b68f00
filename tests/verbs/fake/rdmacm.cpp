// The functions of librdmacm: joining multicast groups, and the subnet manager that keeps those of InfiniBand.
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/verbs/fake/world.h"

namespace fake {
namespace {

struct event_channel : rdma_event_channel {
  std::deque<rdma_cm_event*> events;
};

struct cm_id : rdma_cm_id {
  adapter* at = nullptr;
  std::set<std::array<std::uint8_t, 16>> groups;
};

constexpr std::uint32_t qkey = 0x01234567;

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  auto* c = new event_channel{};
  c->fd = new_bell();
  return c;
}

void rdma_destroy_event_channel(rdma_event_channel* c) {
  ::close(c->fd);
  delete static_cast<event_channel*>(c);
}

int rdma_create_id(rdma_event_channel* c, rdma_cm_id** id, void*, rdma_port_space) {
  *id = new cm_id{};
  (*id)->channel = c;
  return 0;
}

int rdma_destroy_id(rdma_cm_id* id) {
  cm_id& mine = *static_cast<cm_id*>(id);
  {
    const guard lock{all().mutex};
    for (const auto& g : mine.groups) all().joined.extract({mine.at, g});
  }
  if (mine.verbs) ibv_close_device(mine.verbs);
  delete &mine;
  return 0;
}

// The adapter with this IPv4 address; on InfiniBand, where the loopback interface stands for its IPoIB, the first.
int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  cm_id& mine = *static_cast<cm_id*>(id);
  {
    const guard lock{all().mutex};
    for (adapter& d : all().devices) {
      const bool is_it = d.plan.infiniband || (address->sa_family == AF_INET &&
          std::memcmp(&reinterpret_cast<sockaddr_in*>(address)->sin_addr, d.gid.raw + 12, 4) == 0);
      if (is_it && !mine.at) mine.at = &d;
    }
  }
  if (!mine.at) return errno = EADDRNOTAVAIL, -1;
  mine.verbs = ibv_open_device(mine.at), mine.port_num = 1;
  return 0;
}

int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void*) {
  cm_id& mine = *static_cast<cm_id*>(id);
  const guard lock{all().mutex};
  std::array<std::uint8_t, 16> group{};
  const bool v4 = address->sa_family == AF_INET;
  if (v4) {
    group[10] = group[11] = 0xff;
    std::memcpy(&group[12], &reinterpret_cast<sockaddr_in*>(address)->sin_addr, 4);
  } else {
    std::memcpy(group.data(), &reinterpret_cast<sockaddr_in6*>(address)->sin6_addr, 16);
  }
  auto* e = new rdma_cm_event{};
  e->id = id, e->event = RDMA_CM_EVENT_MULTICAST_JOIN;
  std::uint16_t lid = 0;
  if (mine.at->plan.infiniband) {
    auto& lids = all().group_lids;
    const auto next = static_cast<std::uint16_t>(0xc000 + lids.size());
    // No address is a wish for a new group; any other must be one that the manager has given, ff1x:a01b::.
    if (group == std::array<std::uint8_t, 16>{}) {
      group = {0xff, 0x12, 0xa0, 0x1b};
      group[15] = static_cast<std::uint8_t>(lids.size() + 1);
      lids.emplace(group, next);
    } else if (!lids.contains(group)) {
      e->event = RDMA_CM_EVENT_MULTICAST_ERROR, e->status = -EINVAL;
    }
    lid = lids.contains(group) ? lids[group] : std::uint16_t{0};
  }
  if (e->status == 0) mine.groups.insert(group), all().joined.emplace(mine.at, group);
  e->param.ud.qkey = qkey, e->param.ud.qp_num = 0xff'ffff;
  e->param.ud.ah_attr.is_global = 1, e->param.ud.ah_attr.dlid = lid, e->param.ud.ah_attr.port_num = 1;
  std::memcpy(e->param.ud.ah_attr.grh.dgid.raw, group.data(), 16);
  static_cast<event_channel*>(id->channel)->events.push_back(e);
  return bell(id->channel->fd) ? 0 : -1;
}

int rdma_get_cm_event(rdma_event_channel* c, rdma_cm_event** out) {
  if (!answered(c->fd)) return -1;
  const guard lock{all().mutex};
  auto& events = static_cast<event_channel*>(c)->events;
  *out = events.front();
  events.pop_front();
  return 0;
}

int rdma_ack_cm_event(rdma_cm_event* e) {
  delete e;
  return 0;
}

const char* rdma_event_str(rdma_cm_event_type) { return "RDMA_CM_EVENT_MULTICAST_ERROR"; }

}  // extern "C"
