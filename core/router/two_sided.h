// Two-sided messages over a router: by the child that serves the rank. A rank's messages take one way for good, so their order is
// that child's; receive() asks the children by turns, so that a flood by one does not shut out the other.
#pragma once
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/transport/two_sided.h"

namespace tutti {

class router_two_sided final : public two_sided {
 public:
  // `near_by`: by job rank, whether the node transport serves it; outlives this. `network` may be the node's where all are.
  router_two_sided(two_sided& node, two_sided& network, const std::vector<std::uint8_t>& near_by) noexcept
      : children_{&node, &network}, near_by_(near_by) {}

  bool refused() noexcept { return std::exchange(refused_, false); }  // a message was, since this was last asked

  limits query() const noexcept override {
    const limits a = children_[0]->query(), b = children_[1]->query();
    return {std::min(a.max_header, b.max_header), std::min(a.max_payload, b.max_payload), a.fixed_bytes + b.fixed_bytes,
            std::max(a.peer_bytes, b.peer_bytes)};
  }
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override {
    const bool taken = children_[near_by_[to] ? 0 : 1]->send(to, header, payload);
    if (!taken) refused_ = true;
    return taken;
  }
  bool receive(message& out) noexcept override {
    turn_ ^= 1;
    return children_[turn_]->receive(out) || children_[turn_ ^ 1]->receive(out);
  }

 private:
  std::array<two_sided*, 2> children_;
  const std::vector<std::uint8_t>& near_by_;
  unsigned turn_ = 0;
  bool refused_ = false;
};

}  // namespace tutti
