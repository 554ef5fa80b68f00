// Operations that wait for a queue pair: the first ones to a peer, and those behind an error that broke its connection.
//
// To refuse them would be in the letter of clause 2, but a caller who addresses ten peers would then connect to them one
// after the other. So some are kept for each, bounded, and begun in their order as soon as there is a queue pair: as long as
// one waits, all wait. An operation that waits counts once more in its completion, and in the regions that it names.
#pragma once
#include "providers/verbs/peer.h"

namespace tutti::verbs {

struct backlog {
  static constexpr std::uint32_t most = 16;
  std::array<rma_op, most> ops;
  std::array<std::array<std::byte, requested_inline>, most> copies;  // of unregistered memory
  std::uint32_t first = 0, count = 0;
};

class backlogs {
 public:
  explicit backlogs(region_table& regions) noexcept : regions_(regions) {}
  bool any() const noexcept { return waiting_ != 0; }

  bool keep(const rma_op&, peer&) noexcept;  // false: full
  void end(peer&, const status&) noexcept;   // all that wait for it
  // Begins them while start(op, peer) is true.
  template <class Start>
  void pump(peer& p, Start&& start) noexcept {
    while (p.waiting && p.confirmed && !p.failing && p.alive() && start(front(p), p)) begun(p);
  }

 private:
  static const rma_op& front(const peer& p) noexcept { return p.waiting->ops[p.waiting->first]; }
  rma_op leave(peer&) noexcept;              // the first
  void begun(peer&) noexcept;
  void count(const rma_op&, int how) noexcept;

  region_table& regions_;
  std::uint32_t waiting_ = 0;                // peers with a backlog
};

}  // namespace tutti::verbs
