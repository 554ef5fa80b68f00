// Multicast over a router: one member of each node, its leader, is in a group of the network; the members of a node are
// in a group of the node transport, and the leader hands on, both ways, what reaches it. So a datagram crosses the
// network once for each node, and a node's other members read it in shared memory.
//
// The leader of a node is the first of its members in the group's order, and the creator on the creator's own node, so
// that its datagrams leave without a stop. Every rank knows the node of every rank from the routers' addresses. A
// leader makes its node's inner group while it joins, and leaves its token in its lobby under the group's random name,
// which the creator's token carries; if it could not join it leaves the reason, and its mates fail with it.
//
// A leader hands on whenever its rank makes progress; so a mate hears of the network only as promptly as its leader
// does, like everything on a fabric whose target must progress. What it cannot hand on at once it keeps, one datagram
// each way, and takes no more for that way until it could. What its own rank does not fetch is lost once its queue is
// full: the others must not wait for that. When its rank leaves the group, a leader goes on until its mates have left too;
// they check out in its lobby. In front of its payload a datagram carries the rank that sent it first; what
// comes from inside is handed on to the outside alone and the other way round, and nobody receives what it sent itself:
// so nothing goes in circles. Groups within one node, or with one member a node, are those of the one transport that
// serves them.
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

  unsigned progress() noexcept;  // hands on
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
  std::vector<std::unique_ptr<group>> lingering_;  // left by this rank, and not by all its mates
  std::uint32_t leading_ = 0;  // groups in which this rank hands on
  std::uint32_t turn_ = 0;     // the network is looked at for one of them at a time: that is a system call
  std::uint32_t owed_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace tutti
