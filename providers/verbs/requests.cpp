#include "providers/verbs/requests.h"

#include "providers/verbs/error.h"
#include "providers/verbs/packets.h"
#include "providers/verbs/swaps.h"

namespace tutti::verbs {
namespace {

constexpr std::chrono::milliseconds longest_drain{200};  // of completions that an adapter owes

}  // namespace

void requests::post(peer& p, std::span<ibv_send_wr> wrs, std::span<const posted> what) noexcept {
  for (const posted& w : what)
    if (w.done && w.kind != work::swap) w.done->begin();
  const int error = p.out.post(wrs, what);
  if (!error) {
    in_flight_ += static_cast<std::uint32_t>(what.size());
    for (const posted& w : what) use(w, 1);
    return;
  }
  const status why = os_error(worded("posting to rank ", p.rank), error, p.rank);
  for (const posted& w : what) ended(p, w, why);
  fail(p, why);
}

// A few requests are kept for these in every queue: see has_room().
bool requests::ring(peer& p, ring_kind kind) noexcept {
  if (p.out.room() == 0 || in_flight_ >= total_depth + queue_depth) return false;
  ibv_send_wr wr{};
  make_ring_request(wr, kind, self_);
  posted what;
  what.kind = kind == ring_kind::bye ? work::probe : work::write;
  post(p, {&wr, 1}, {&what, 1});
  return true;
}

void requests::probe(peer& p) noexcept {
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  posted what;
  what.kind = work::probe;
  p.probing = true;
  post(p, {&wr, 1}, {&what, 1});
}

void requests::ended(peer& p, const posted& what, const status& outcome) noexcept {
  if (what.kind == work::swap) return swaps_.tried(what.index, outcome);
  if (what.kind == work::probe) return void(p.probing = false);
  if (what.kind == work::packet || what.kind == work::room) return packets_.finished(p, what.kind, outcome.ok());
  if (what.kind == work::atomic && what.index && outcome.ok() && !bounce_.answered(what.index)) {
    bounce_.give_back(what.index, false);
    return p.tell(what.done, unanswered(p.rank));  // it took effect, so the peer lost nothing
  }
  if (what.index) bounce_.give_back(what.index, outcome.ok());
  if (what.kind == work::flush) {
    --p.flushes;
    // What failed before it without a completion is what it reports, and no later flush again.
    if (outcome.failed() && p.unreported.failed()) return what.done ? what.done->finish(std::exchange(p.unreported, {})) : void();
  }
  // Nobody asked how it would end. What was lost upon a peer that lives, the peer may be waiting for.
  if (!what.done && outcome.failed()) p.losing = true;
  p.tell(what.done, outcome);
}

void requests::fail(peer& p, status why) noexcept {
  if (!p.out.is_open() || p.failing) return;
  p.failing = true;
  p.ready = false;
  p.failure = std::move(why);
  p.drain_until = std::chrono::steady_clock::now() + longest_drain;
  ++draining_;
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(p.out.qp(), &q, IBV_QP_STATE);
}

// What is still on record ends, whether the adapter will ever say so or not.
void requests::drained(peer& p) noexcept {
  p.out.retire(p.out.head() - 1, [&](const posted& what) { finish(p, what, p.failure); });
  p.out.close();
  p.failing = false;
  --draining_;
}

}  // namespace tutti::verbs
