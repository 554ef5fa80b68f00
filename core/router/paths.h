// For a router whose children's atomics do not agree (core/router/router.h): chooses the child that takes an operation towards a
// rank of this node, and keeps the order of operations that take different children, where the contract asks for order.
//
// Two paths lead to a rank of this node, the node's and the network's. Atomics and added signals, with the payload before
// them, take the network's path, everything else the node's. Most operations are then ordered by one child alone, or not at all:
// puts, gets and atomics promise no order (clause 5). What remains are signals with something earlier on the other path:
//   order everything   not visible before anything taken earlier
//   signals to a word  of one origin take effect in their order: a set one and an added one are on different paths
// Before such a signal is offered to its path, the other path is flushed (clause 4: then all of it is visible), and until
// that has ended the signal is refused (clause 2: full). A flush of shared memory ends at once, as a rule, so an added
// signal behind stores costs nothing; a set signal behind added ones waits for a round trip of the adapter.
//
// A flush reports the errors of operations that named no completion (clause 3). What one of these flushes reports is kept for
// the caller's next flush.
#pragma once
#include <array>
#include <vector>

#include "core/transport/transport.h"

namespace tutti {

class router_paths {
 public:
  enum path : std::uint8_t { by_node, by_network };

  void open(std::size_t ranks) { ranks_.resize(ranks); }
  bool in_use() const noexcept { return !ranks_.empty(); }

  static path path_of(const rma_op& op) noexcept {
    switch (op.kind) {
      case op_kind::fetch_add:
      case op_kind::compare_swap:
      case op_kind::swap: return by_network;
      case op_kind::signal:
      case op_kind::put_signal: return op.how == signal_how::add ? by_network : by_node;
      default: return by_node;
    }
  }

  // Whether `op` may be offered to its path now. `other` is the child of the other path.
  bool may_go(const rma_op& op, transport& other) noexcept;
  void took(const rma_op& op) noexcept;                       // after its path has taken `op`

  // For a flush of the caller's: whether the network's path may hold something towards this rank.
  bool network_used(rank_t rank) const noexcept {
    const one_path& p = ranks_[rank].paths[by_network];
    return p.anything || p.flushing;
  }
  // Reports to `done` the errors that were kept for this rank (no_rank: for all).
  void tell(rank_t rank, completion* done) noexcept;

 private:
  struct one_path {
    bool anything = false, signals = false;  // taken since its last flush of ours was begun
    bool flushing = false;
    completion flushed;
  };
  struct rank_state {
    std::array<one_path, 2> paths;
    status untold;
  };
  bool settle(rank_state&, one_path&, rank_t, bool signals_only, transport&) noexcept;

  std::vector<rank_state> ranks_;
  bool any_untold_ = false;
};

}  // namespace tutti
