// Multicast over a router: one member of each node, its leader, is in a group of the network; the members of a node are
// in a group of the node transport, and the leader forwards, both ways, what reaches it. So a datagram crosses the network once
// for each node, and a node's other members read it in shared memory.
//
// The leader of a node is the first of its members in the group's order, and the creator on the creator's own node, so
// that the creator's datagrams leave at once. Every rank knows the node of every rank from the routers' addresses. A leader
// makes its node's inner group while it joins, and leaves the group's token in its lobby (core/router/node_lobby.h) under the
// group's random name, which the creator's token carries. If the leader could not join, it leaves the reason there, and its
// node's members fail with it.
//
// A leader forwards whenever its rank makes progress; so its node's members hear of the network only as promptly as the leader
// does, as on any fabric whose target must progress. A datagram that the leader cannot forward at once it keeps, one each way,
// and takes no more for that way until it could. What its own rank does not fetch is lost once the queue is full: the others must
// not wait for that. A leader whose rank leaves the group goes on until its node's members have left too; they check out in its
// lobby. In front of its payload a datagram carries the rank that sent it first. What comes from inside is forwarded to the
// outside alone, and the other way round, and nobody receives what it sent itself: so nothing goes in circles. A group within one
// node, or with one member a node, is one of the transport that serves all its members.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/router/node_lobby.h"
#include "core/transport/multicast.h"
#include "core/transport/transport.h"

namespace tutti {

class router_multicast final : public multicast {
 public:
  // `drive` is the router's progress(), called while join() waits for this node's leader.
  router_multicast(transport& node, transport& network, rank_t self, std::vector<std::uint32_t> node_of, node_lobby& lobby,
                   std::function<unsigned()> drive);
  ~router_multicast() override;

  unsigned progress() noexcept;  // forwards
  bool owes() const noexcept { return owed_ != 0; }  // no event will tell when it can go on

  limits query() const noexcept override;
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override;
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override;
  bool send(group_id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override;
  bool receive(group_id, datagram& out) noexcept override;
  void leave(group_id) noexcept override;

 private:
  struct part;
  struct group;

  group* at(group_id id) noexcept { return groups_[static_cast<std::size_t>(id)].get(); }
  group_id enter(std::unique_ptr<group>);
  status join_parts(group&, const rank_map& leaders, const rank_map& mates, std::span<const std::byte> outer,
                    time_point deadline);
  bool offer(part&, rank_t from, std::uint32_t tag, std::span<const std::byte> payload) noexcept;
  bool pay(part&) noexcept;
  void close(group&) noexcept;
  bool all_mates_left(const group&) const noexcept;
  bool take(group&, part& from, part& to) noexcept;
  void pull(group&, bool from_outside) noexcept;

  multicast &node_, &network_;
  const rank_t self_;
  const std::vector<std::uint32_t> node_of_;  // by job rank
  node_lobby& lobby_;
  std::function<unsigned()> drive_;
  std::vector<std::unique_ptr<group>> groups_;
  std::vector<std::unique_ptr<group>> lingering_;  // left by this rank, and not by all other members on its node
  std::uint32_t leading_ = 0;  // groups in which this rank forwards
  std::uint32_t turn_ = 0;     // the network is looked at for one of the groups at a time: that is a system call
  std::uint32_t owed_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace tutti
