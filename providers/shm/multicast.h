// Datagrams that all members of a group read from one ring (multicast.cpp).
#pragma once
#include "core/transport/multicast.h"
#include "providers/shm/transport.h"

namespace tutti::shm {

class shm_multicast final : public multicast {
 public:
  explicit shm_multicast(shm_transport& owner) noexcept : net_(owner) {}

  limits query() const noexcept override;
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override;
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override;
  bool send(group_id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override;
  bool receive(group_id, datagram& out) noexcept override;
  void leave(group_id) noexcept override;

  bool news() noexcept;  // something came since this was last asked; true once, as receive() is the caller's business

 private:
  struct ring;
  struct slot;
  struct group {
    shared_memory own;          // the creator's: the descriptor stays open for those who still join
    mapping joined;             // a joiner's
    ring* lines = nullptr;      // null: the place is free
    std::vector<peer*> others;
    std::vector<std::byte> copy;   // of the last datagram received
    std::uint64_t next = 0;        // position of the next datagram to look at
    std::uint64_t told = 0;        // the head that news() has spoken of
    std::uint32_t polls = 0;       // without a datagram, since the last
    time_point stalled_since{};    // when a position was seen taken and not filled; zero: none
  };
  result<group_id> open(const rank_map& members, shared_memory own, mapping joined);
  bool deliver(group&, slot&, std::uint64_t position, datagram& out) noexcept;
  bool stalled(group&) noexcept;
  bool being_written(group&) noexcept;

  shm_transport& net_;
  std::vector<group> groups_;
};

}  // namespace tutti::shm
