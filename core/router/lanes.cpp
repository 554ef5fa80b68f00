#include "core/router/lanes.h"

#include <utility>

namespace tutti {
namespace {

bool is_signal(const rma_op& op) noexcept { return op.kind == op_kind::signal || op.kind == op_kind::put_signal; }

}  // namespace

bool router_lanes::may_go(const rma_op& op, transport& other) noexcept {
  if (!is_signal(op)) return true;
  rank_state& r = ranks_[op.rank];
  one_lane& l = r.lanes[lane_of(op) == by_node ? by_network : by_node];
  return settle(r, l, op.rank, op.order == not_before::payload, other);
}

// True: everything on the lane, or all signals, are visible.
bool router_lanes::settle(rank_state& r, one_lane& l, rank_t rank, bool signals_only, transport& child) noexcept {
  for (;;) {
    if (l.flushing) {
      if (!l.flushed.idle()) return false;
      l.flushing = false;
      if (r.untold.ok() && l.flushed.outcome().failed()) r.untold = l.flushed.outcome(), any_untold_ = true;
      l.flushed.clear();
    }
    if (signals_only ? !l.signals : !l.anything) return true;
    if (!child.flush(rank, &l.flushed)) return false;
    l.flushing = true;
    l.anything = l.signals = false;  // what is taken from now on needs another
  }
}

void router_lanes::took(const rma_op& op) noexcept {
  one_lane& l = ranks_[op.rank].lanes[lane_of(op)];
  l.anything = true;
  l.signals |= is_signal(op);
}

void router_lanes::tell(rank_t rank, completion* done) noexcept {
  if (!done || !any_untold_) return;
  const auto tell_of = [&](rank_state& r) {
    if (r.untold.ok()) return;
    done->begin();
    done->finish(std::exchange(r.untold, {}));
  };
  if (rank != no_rank) return tell_of(ranks_[rank]);
  for (rank_state& r : ranks_) tell_of(r);
}

}  // namespace tutti
