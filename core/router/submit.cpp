// The data path: operations go to the child that serves their rank.
#include <algorithm>

#include "core/router/impl.h"

namespace tutti {

// Neighbours in the list for the same child go to it as one span. A child that takes less than its span ends the call:
// an operation behind the refused one must not be taken before it, whichever child it is for (clause 2, a prefix).
// Within a span nothing is taken by the other path of a rank, so what may go at its begin may go in its midst.
std::size_t router::submit(std::span<const rma_op> ops) noexcept {
  std::size_t taken = 0;
  while (taken < ops.size() && may_go(ops[taken])) {
    const bool near = goes_near(ops[taken]);
    std::size_t end = taken + 1;
    while (end < ops.size() && goes_near(ops[end]) == near && may_go(ops[end])) ++end;
    const auto run = ops.subspan(taken, end - taken);
    const std::size_t got = near ? node_->submit(run) : submit_to_network(run);
    if (paths_.in_use())
      for (const rma_op& op : run.first(got))
        if (on_node(op.rank)) paths_.took(op);
    taken += got;
    if (got < run.size()) break;
  }
  refused_ = taken < ops.size();
  return taken;
}

std::size_t router::submit_to_network(std::span<const rma_op> ops) noexcept {
  constexpr std::size_t chunk = 8;  // 512 bytes of stack; a network's own queueing dwarfs the extra calls
  rma_op translated[chunk];
  std::size_t taken = 0;
  bool full = false, any_scatter = false;
  while (taken < ops.size() && !full) {
    const std::size_t offered = std::min(chunk, ops.size() - taken);
    std::size_t n = 0;
    for (; n < offered; ++n) {
      rma_op& op = translated[n] = ops[taken + n];
      if (op.local != unregistered_memory) op.local = regions_[op.local];
      // Both, used or not: a lookup costs less than a branch on the kind. An id that is not ours gives itself.
      op.remote = segments_[op.remote];
      op.signal = segments_[op.signal];
      if (op.kind != op_kind::get_scatter) continue;
      any_scatter = true;
      if (!scatters_.hold(op, regions_)) break;
    }
    const std::size_t got = n ? network_->submit({translated, n}) : 0;
    if (any_scatter) {
      for (std::size_t i = 0; i < n; ++i) {
        if (translated[i].kind != op_kind::get_scatter) continue;
        if (i < got) scatters_.commit(translated[i], ops[taken + i].done);
        else scatters_.release(translated[i]);
      }
      scatters_.settle();
    }
    taken += got;
    full = got < offered;
  }
  return taken;
}

// A flush that is both children's is taken by both or by none. If the node refuses after the network has taken it, the
// router owes it: `done` is begun once more on the router's account, and progress() offers the flush again until it is
// taken. It then covers what was submitted meanwhile as well, which does no harm: it ends a little later. So nothing is
// taken twice, no error that a flush reports is lost, and `done` cannot be idle before both have ended.
bool router::flush_both(rank_t peer, completion* done) noexcept {
  if (owed_count_ == owed_.size() || !network_->flush(peer, done)) return false;
  scatters_.flushed(peer, done);
  if (node_->flush(peer, done)) return true;
  if (done) done->begin();
  owed_[owed_count_++] = {peer, done};
  return true;
}

bool router::flush_one(rank_t peer, completion* done) noexcept {
  if (on_node(peer)) {
    const bool by_both = paths_.in_use() && paths_.network_used(peer);
    return by_both ? flush_both(peer, done) : node_->flush(peer, done);
  }
  if (!network_->flush(peer, done)) return false;
  scatters_.flushed(peer, done);
  return true;
}

bool router::flush(rank_t peer, completion* done) noexcept {
  const bool taken = peer == no_rank ? flush_both(no_rank, done) : flush_one(peer, done);
  if (taken && paths_.in_use()) paths_.tell(peer, done);
  refused_ = !taken;
  return taken;
}

unsigned router::pay_flushes() noexcept {
  std::uint32_t paid = 0;
  while (paid < owed_count_ && node_->flush(owed_[paid].peer, owed_[paid].done)) {
    if (owed_[paid].done) owed_[paid].done->finish();  // the router's own count; the child has begun its own
    ++paid;
  }
  std::move(owed_.begin() + paid, owed_.begin() + owed_count_, owed_.begin());
  owed_count_ -= paid;
  return paid;
}

unsigned router::progress() noexcept {
  armed_ = false;
  unsigned events = node_->progress() + network_->progress();
  events += scatters_.settle();
  if (owed_count_) events += pay_flushes();
  if (multicast_) events += multicast_->progress();
  if (events) nap_ = {};
  return events;
}

}  // namespace tutti
