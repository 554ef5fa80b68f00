// Multicast (core/transport/transport.h) by UD queue pairs attached to a group's address: Kini 2003's RGM upon the fabric's own
// multicast.
//
// Each group has a queue pair of its own, so that what one group leaves unread takes no receives from another. All share
// one completion queue, apart from that of RC (Kini 5.3). A datagram is at most one packet: a header that names the
// group, the sender and its number, then the payload. What bears no such header, or is this rank's own, is dropped.
//
// A datagram stays in its receive until receive() has given it out and is called again; all else is posted again at
// once. Datagrams that come upon no receive are lost without a word. Whoever relies on a datagram asks again
// (core/engine/reliable_multicast.h). No user is told how many were lost: each sender's numbers show it, whatever lost them, and
// tests compare that (`lost`) with what their adapters dropped.
//
// Does it arrive? A switch may filter multicast. So join() multicasts a question to the creator, which answers by
// multicast in its progress(), again and again; when the answer is heard both ways work, and when none is heard for
// some seconds join() fails with `unavailable`. Losing some of these is no harm.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/transport/multicast.h"
#include "core/transport/transport.h"
#include "providers/verbs/membership.h"

namespace tutti::verbs {

class verbs_multicast final : public multicast {
 public:
  // What it uses of its transport. `drive` and `health` are the transport's progress() and health(), called while join() waits.
  struct surroundings {
    const adapter* device = nullptr;
    ibv_pd* pd = nullptr;
    ibv_comp_channel* channel = nullptr;
    rank_t rank = 0;
    std::function<unsigned()> drive;
    std::function<status(rank_t)> health;
  };
  static result<std::unique_ptr<verbs_multicast>> open(surroundings);
  ~verbs_multicast() override;

  limits query() const noexcept override;
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override;
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override;
  bool send(group_id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override;
  bool receive(group_id, datagram& out) noexcept override;
  void leave(group_id) noexcept override;

  ibv_cq* cq() const noexcept { return cq_; }
  unsigned progress() noexcept;                       // how many datagrams came
  std::uint64_t lost(group_id) const noexcept;        // by others' numbers, since this rank joined: for tests

 private:
  struct header;
  struct token_blob;
  struct group;
  group* at(group_id) const noexcept;
  result<group_id> enter(const rank_map& members, std::uint64_t name, const group_address&, time_point deadline);
  status open_queue_pair(group&);
  void close(group&) noexcept;
  void refill(group&, std::uint32_t slot) noexcept;
  bool handle(const ibv_wc&) noexcept;                // true: a datagram for receive()
  bool arrived(group&, std::uint32_t slot, std::uint32_t bytes) noexcept;
  bool post(group&, std::uint32_t kind, std::uint32_t tag, std::span<const std::byte> payload) noexcept;
  explicit verbs_multicast(surroundings);

  surroundings at_;
  ibv_cq* cq_ = nullptr;
  std::uint32_t packet_ = 0;                          // bytes, header and payload
  std::vector<std::unique_ptr<group>> groups_;        // null: free
};

}  // namespace tutti::verbs
