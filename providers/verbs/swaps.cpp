#include "providers/verbs/swaps.h"

#include "providers/verbs/error.h"
#include "providers/verbs/requests.h"

namespace tutti::verbs {

void swap_table::open(rank_t self) {
  self_ = self;
  swaps_ = std::make_unique<swap[]>(most_swaps);
  for (std::uint16_t i = 0; i < most_swaps; ++i) swaps_[i].next_free = static_cast<std::uint16_t>(i + 1);
}

bool swap_table::take(const rma_op& op, peer& p, std::uint64_t address, std::uint32_t rkey, status& why) noexcept {
  swap& s = swaps_[free_];
  ibv_sge at{};
  s.holds = {};
  if (!bounce_.take_for_answer(op, s.holds, at, why)) return bounce_.give_back(s.holds.index, false), false;
  free_ = s.next_free;
  s.to = &p, s.done = op.done;
  s.result = reinterpret_cast<std::byte*>(at.addr), s.lkey = at.lkey;
  s.address = address, s.rkey = rkey;
  s.operand = op.operand, s.guess = 0, s.waits = false;
  if (s.done) s.done->begin();
  out_.use(s.holds, 1);
  ++p.swaps;
  attempt(s);
  return true;
}

void swap_table::attempt(swap& s) noexcept {
  peer& p = *s.to;
  if (!p.alive()) return end(s, p.life.end());
  if (p.failing || !p.confirmed) return end(s, broken_connection(p.rank, "between two tries of a swap"));
  const bool waited = std::exchange(s.waits, !out_.has_room(p, 1u + p.rings));
  waiting_ += static_cast<std::uint32_t>(s.waits) - static_cast<std::uint32_t>(waited);
  if (s.waits) return;
  ibv_sge sge{reinterpret_cast<std::uint64_t>(s.result), 8, s.lkey};
  std::array<ibv_send_wr, 2> wrs{};
  std::array<posted, 2> what{};
  wrs[0].opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wrs[0].sg_list = &sge, wrs[0].num_sge = 1;
  wrs[0].wr.atomic.remote_addr = s.address, wrs[0].wr.atomic.rkey = s.rkey;
  wrs[0].wr.atomic.compare_add = s.guess, wrs[0].wr.atomic.swap = s.operand;
  what[0].kind = work::swap, what[0].index = static_cast<std::uint16_t>(&s - swaps_.get());
  if (p.rings) make_ring_request(wrs[1], ring_kind::bell, self_);  // a try that fails rings for nothing
  const std::size_t n = 1u + p.rings;
  out_.post(p, {wrs.data(), n}, {what.data(), n});
}

void swap_table::tried(std::uint16_t index, const status& outcome) noexcept {
  swap& s = swaps_[index];
  if (outcome.failed()) return end(s, outcome);
  if (!bounce_.answered(s.result)) return end(s, unanswered(s.to->rank), true);
  std::uint64_t old;
  std::memcpy(&old, s.result, sizeof old);
  if (old == s.guess) return end(s, {});
  s.guess = old;
  bounce_.expect_answer(s.result);
  attempt(s);
}

void swap_table::end(swap& s, const status& outcome, bool took_effect) noexcept {
  peer& p = *s.to;
  --p.swaps;
  waiting_ -= std::exchange(s.waits, false);
  out_.use(s.holds, -1);
  bounce_.give_back(s.holds.index, outcome.ok());
  if (!s.done && outcome.failed() && !took_effect) p.losing = true;  // as what ends in requests
  p.tell(s.done, outcome);
  s.to = nullptr;
  s.next_free = free_;
  free_ = static_cast<std::uint16_t>(&s - swaps_.get());
}

void swap_table::retry() noexcept {
  for (std::uint16_t i = 0; i < most_swaps && waiting_; ++i)
    if (swaps_[i].to && swaps_[i].waits) attempt(swaps_[i]);
}

}  // namespace tutti::verbs
