// Two-sided messages: every rank has one ring of cells for all who send to it (two_sided.cpp).
#pragma once
#include <optional>
#include <vector>

#include "core/transport/two_sided.h"
#include "providers/shm/transport.h"

namespace tutti::shm {

class shm_two_sided final : public two_sided {
 public:
  explicit shm_two_sided(shm_transport& owner) noexcept;
  void expect(std::uint32_t ranks) { rings_.resize(ranks); }  // on this node

  limits query() const noexcept override;
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
  bool receive(message& out) noexcept override;

  bool passes_dead() noexcept;  // cells of ranks that are known to be dead: what lies behind was not seen yet

 private:
  cell_ring& own() noexcept { return *own_; }
  cell_ring* ring_of(peer&) noexcept;  // null: it is dead, or cannot be mapped for want of something
  void release(std::uint64_t position) noexcept;

  shm_transport& net_;
  cell_ring* const own_;
  std::vector<mapping> rings_;  // of those that were sent to, by local index
  std::uint64_t next_ = 0;      // the position to be received next
  std::optional<std::uint64_t> held_;  // that of the message in the caller's hands
};

}  // namespace tutti::shm
