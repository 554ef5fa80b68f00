// That datagrams to a multicast address reach this host's adapter. A queue pair attached to an address receives what the
// adapter receives; whether the fabric sends it there is another matter.
//   InfiniBand   the subnet manager keeps groups. rdma_cm speaks with it, by an IPoIB interface of the port. Who creates
//                a group lets the manager choose its address; the others join that.
//   RoCE         a group is an IP multicast group. rdma_cm joins that too; where a process has no access to rdma_cm
//                (containers, often), a socket does it as well, since switches only look at IP.
#pragma once
#include <rdma/rdma_cma.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "core/job/bootstrap.h"
#include "providers/verbs/device.h"

namespace tutti::verbs {

struct group_address {
  std::array<std::uint8_t, 16> gid{};
  std::uint32_t qkey = 0;
  std::uint32_t reserved = 0;
};

class membership {
 public:
  membership() = default;
  membership(membership&&) noexcept;
  membership& operator=(membership&&) noexcept;
  ~membership();

  // Blocks until it is a member, at most until the deadline. With no address (all bytes of gid zero; InfiniBand only)
  // a new group is made. On RoCE the address must be one of IP's multicast addresses, as roce_group() makes them.
  static result<membership> join(const adapter&, const group_address& requested, time_point deadline);

  const group_address& address() const noexcept { return address_; }
  std::uint16_t lid() const noexcept { return lid_; }
  ibv_ah_attr way() const noexcept { return way_; }  // for sending to the group

 private:
  static result<membership> join_by_cm(const adapter&, const group_address&, time_point deadline);
  static result<membership> join_by_socket(const adapter&, const group_address&);

  group_address address_;
  std::uint16_t lid_ = 0;
  ibv_ah_attr way_{};
  rdma_event_channel* channel_ = nullptr;
  rdma_cm_id* id_ = nullptr;
  int socket_ = -1;
};

// A multicast address of IP's local scope in the family of the adapter's own, from `name`.
group_address roce_group(const adapter&, std::uint64_t name) noexcept;

}  // namespace tutti::verbs
