// Datagrams lost, repeated and out of order, on the receiving side: each receiver has its own faults, as on a network.
// Private to tests/doubles/fault_transport.
#pragma once
#include <deque>
#include <unordered_map>
#include <vector>

#include "core/transport/multicast.h"
#include "tests/doubles/fault_transport.h"

namespace tutti {

class faulty_multicast final : public multicast {
 public:
  faulty_multicast(multicast& inner, fault_dice& dice) : inner_{inner}, dice_{dice} {}

  multicast& wraps() const noexcept { return inner_; }
  // Something is held back that no event of the transport below will announce.
  bool holds_any() const noexcept;

  limits query() const noexcept override { return inner_.query(); }
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override;
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override;
  bool send(group_id id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override {
    return inner_.send(id, tag, payload);
  }
  bool receive(group_id, datagram& out) noexcept override;
  void leave(group_id) noexcept override;

 private:
  struct copy {
    rank_t from;
    std::uint32_t tag;
    std::vector<std::byte> payload;
  };
  struct group {
    std::deque<copy> held;
    copy given;           // the payload handed out last, valid until the next receive()
    unsigned passed = 0;  // receive() calls that left held datagrams waiting
  };
  bool hand_out(group&, copy, datagram& out) noexcept;

  multicast& inner_;
  fault_dice& dice_;
  std::unordered_map<std::uint32_t, group> groups_;
};

}  // namespace tutti
