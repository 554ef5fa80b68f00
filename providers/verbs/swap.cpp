// A swap by compare_swap. Verbs have no swap, so one is tried with a guess of the old value; what comes back is either
// the guess, and the swap has happened, or a better guess. A try that fails changes nothing, so however many there are,
// the word changes once. The try's answer lands where the old value is wanted, and is read there.
//
// Between tries the operation is not in the send queue; peer::swaps counts it, and whatever must be behind it (signals
// behind everything, flushes) is refused until it has ended.
#include <arpa/inet.h>

#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {

bool verbs_transport::take_swap(const rma_op& op, peer& p, const target& word) noexcept {
  if (free_swap_ == most_swaps || !has_room(p, 2)) return false;
  swapping& s = swaps_[free_swap_];
  ibv_sge at{};
  status why;
  s.holds = {};
  if (!bounce_.take_for_answer(op, s.holds, at, why)) return ends_or_waits(op, p, s.holds.index, std::move(why));
  free_swap_ = s.next_free;
  s.to = &p, s.done = op.done;
  s.result = reinterpret_cast<std::byte*>(at.addr), s.lkey = at.lkey;
  s.address = word.address + op.remote_offset, s.rkey = word.word_rkey;
  s.operand = op.operand, s.guess = 0, s.waits = false;
  if (s.done) s.done->begin();
  use(s.holds, 1);
  ++p.swaps;
  try_swap(s);
  return true;
}

void verbs_transport::try_swap(swapping& s) noexcept {
  peer& p = *s.to;
  const auto index = static_cast<std::uint16_t>(&s - swaps_.get());
  if (!p.alive()) return end_swap(s, p.life.end());
  if (p.failing || !p.confirmed) return end_swap(s, broken_connection(p.rank, "between two tries of a swap"));
  const bool waited = std::exchange(s.waits, !has_room(p, 1u + p.rings));
  swaps_waiting_ += static_cast<std::uint32_t>(s.waits) - static_cast<std::uint32_t>(waited);
  if (s.waits) return;
  ibv_sge sge{reinterpret_cast<std::uint64_t>(s.result), 8, s.lkey};
  std::array<ibv_send_wr, 2> wrs{};
  std::array<posted, 2> what{};
  wrs[0].opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wrs[0].sg_list = &sge, wrs[0].num_sge = 1;
  wrs[0].wr.atomic.remote_addr = s.address, wrs[0].wr.atomic.rkey = s.rkey;
  wrs[0].wr.atomic.compare_add = s.guess, wrs[0].wr.atomic.swap = s.operand;
  what[0].kind = work::swap, what[0].index = index;
  if (p.rings) {  // a try that fails rings for nothing
    wrs[1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wrs[1].send_flags = IBV_SEND_SOLICITED;
    wrs[1].imm_data = htonl(make_ring(ring_kind::bell, rank_));
  }
  const std::size_t n = 1u + p.rings;
  post(p, {wrs.data(), n}, {what.data(), n});
}

void verbs_transport::swap_tried(swapping& s, const status& outcome) noexcept {
  if (outcome.failed()) return end_swap(s, outcome);
  if (!bounce_.answered(s.result)) return end_swap(s, unanswered(s.to->rank), true);
  std::uint64_t old;
  std::memcpy(&old, s.result, sizeof old);
  if (old == s.guess) return end_swap(s, {});
  s.guess = old;
  bounce_.expect_answer(s.result);
  try_swap(s);
}

void verbs_transport::end_swap(swapping& s, const status& outcome, bool took_effect) noexcept {
  peer& p = *s.to;
  --p.swaps;
  swaps_waiting_ -= std::exchange(s.waits, false);
  use(s.holds, -1);
  bounce_.give_back(s.holds.index, outcome.ok());
  if (!s.done && outcome.failed() && !took_effect) p.losing = true;  // as ended()
  tell(p, s.done, outcome);
  s.to = nullptr;
  s.next_free = free_swap_;
  free_swap_ = static_cast<std::uint16_t>(&s - swaps_.get());
}

void verbs_transport::retry_swaps() noexcept {
  for (std::uint16_t i = 0; i < most_swaps && swaps_waiting_; ++i)
    if (swaps_[i].to && swaps_[i].waits) try_swap(swaps_[i]);
}

}  // namespace tutti::verbs
