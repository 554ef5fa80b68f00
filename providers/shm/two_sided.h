// Two-sided messages: every rank has one ring of cells for all who send to it (two_sided.cpp).
#pragma once
#include <vector>

#include "core/transport/two_sided.h"
#include "providers/shm/transport.h"

namespace tutti::shm {

class shm_two_sided final : public two_sided {
 public:
  explicit shm_two_sided(shm_transport& owner) noexcept;
  void expect(std::uint32_t ranks) { targets_.resize(ranks); }  // on this node

  limits query() const noexcept override;
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
  bool receive(message& out) noexcept override;

  bool passes_dead() noexcept;  // cells of ranks that are known to be dead: what lies behind was not seen yet

 private:
  struct target {
    cell_ring* ring = nullptr;
    std::uint64_t seen_tail = 0;  // ring_places.h
    mapping memory;
  };
  bool open(target&, peer&) noexcept;  // false: it is dead, or cannot be mapped for want of something
  bool in_vain(std::uint64_t position, bool at_once) noexcept;

  shm_transport& net_;
  cell_ring& own_;
  std::vector<target> targets_;  // those that were sent to, by local index
  std::uint64_t next_ = 0;       // the position to be received next; the message before it may be in the caller's hands
  std::uint64_t freed_ = 0;      // the tail as the senders see it
  bool sent_last_ = false;       // and has received nothing since
};

}  // namespace tutti::shm
