#include "core/router/paths.h"

#include <utility>

namespace tutti {
namespace {

bool is_signal(const rma_op& op) noexcept { return op.kind == op_kind::signal || op.kind == op_kind::put_signal; }

}  // namespace

bool router_paths::may_go(const rma_op& op, transport& other) noexcept {
  if (!is_signal(op)) return true;
  rank_state& r = ranks_[op.rank];
  one_path& p = r.paths[path_of(op) == by_node ? by_network : by_node];
  return settle(r, p, op.rank, op.order == not_before::payload, other);
}

// True: everything on the path, or all signals, are visible.
bool router_paths::settle(rank_state& r, one_path& p, rank_t rank, bool signals_only, transport& child) noexcept {
  for (;;) {
    if (p.flushing) {
      if (!p.flushed.idle()) return false;
      p.flushing = false;
      if (r.untold.ok() && p.flushed.outcome().failed()) r.untold = p.flushed.outcome(), any_untold_ = true;
      p.flushed.clear();
    }
    if (signals_only ? !p.signals : !p.anything) return true;
    if (!child.flush(rank, &p.flushed)) return false;
    p.flushing = true;
    p.anything = p.signals = false;  // what is taken from now on needs another
  }
}

void router_paths::took(const rma_op& op) noexcept {
  one_path& p = ranks_[op.rank].paths[path_of(op)];
  p.anything = true;
  p.signals |= is_signal(op);
}

void router_paths::tell(rank_t rank, completion* done) noexcept {
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
