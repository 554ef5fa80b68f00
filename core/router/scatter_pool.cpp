#include "core/router/scatter_pool.h"

#include <algorithm>

namespace tutti {

scatter_pool::scatter_pool(std::uint32_t max_slices)
    : max_slices_{max_slices}, lists_{max_slices ? new slice[std::size_t{slots} * max_slices] : nullptr} {}

bool scatter_pool::hold(rma_op& op, const id_map<region_id>& ids) noexcept {
  const auto free = std::find_if(slots_.begin(), slots_.end(), [](const slot& s) { return s.state == slot::free; });
  if (free == slots_.end() || max_slices_ == 0) return false;
  slice* list = lists_.get() + static_cast<std::size_t>(free - slots_.begin()) * max_slices_;
  for (std::uint8_t i = 0; i < op.slices; ++i) {
    list[i] = op.scatter[i];
    if (list[i].local != unregistered_memory) list[i].local = ids[list[i].local];
  }
  free->state = slot::held;
  free->rank = op.rank;
  op.scatter = list;
  op.done = &free->landed;
  return true;
}

void scatter_pool::release(const rma_op& held) noexcept { slots_[index_of(held)].state = slot::free; }

void scatter_pool::commit(const rma_op& held, completion* caller) noexcept {
  slot& s = slots_[index_of(held)];
  s.state = slot::taken;
  s.caller = caller;
  if (caller) caller->begin();
  ++live_;
}

unsigned scatter_pool::settle_live() noexcept {
  unsigned ended = 0;
  for (slot& s : slots_) {
    if (s.state != slot::taken || !s.landed.idle()) continue;
    const status& outcome = s.landed.outcome();
    if (s.caller) {
      s.caller->finish(outcome);
    } else if (outcome.failed() &&
               std::none_of(untold_.begin(), untold_.end(), [&](const auto& u) { return u.first == s.rank; })) {
      untold_.emplace_back(s.rank, outcome);
    }
    s.landed.clear();
    s.state = slot::free;
    --live_;
    ++ended;
  }
  return ended;
}

void scatter_pool::tell(rank_t peer, completion* done) noexcept {
  std::erase_if(untold_, [&](const auto& error) {
    if (peer != no_rank && peer != error.first) return false;
    done->begin();
    done->finish(error.second);
    return true;
  });
  for (slot& s : slots_) {
    if (s.state != slot::taken || s.caller || (peer != no_rank && peer != s.rank)) continue;
    s.caller = done;
    done->begin();
  }
}

}  // namespace tutti
