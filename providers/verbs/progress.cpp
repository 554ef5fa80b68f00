// Completions of what this rank has posted, and flushes.
#include <sys/eventfd.h>

#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {
namespace {

// It says something of this end alone, or nothing: the cause may be a port of mine that goes down.
bool may_be_local(ibv_wc_status s) noexcept {
  return s == IBV_WC_LOC_QP_OP_ERR || s == IBV_WC_FATAL_ERR || s == IBV_WC_GENERAL_ERR || s == IBV_WC_WR_FLUSH_ERR;
}

}  // namespace

unsigned verbs_transport::progress() noexcept {
  disarm();
  unsigned events = poll_sends();
  events += handle_events();
  events += hear_rings();
  if (multicast_) events += multicast_->progress();
  if (swaps_waiting_) retry_swaps();
  if (waiting_)
    for (peer* p : lines_)
      if (p->waiting) pump(*p);
  if (confirms_owed_)
    for (peer* p : lines_)
      if (p->confirm_owed) confirm(*p);
  if (draining_) close_drained();
  return events;
}

unsigned verbs_transport::poll_sends() noexcept {
  std::array<ibv_wc, 16> entries;
  unsigned events = 0;
  for (int round = 0; round < 8; ++round) {
    const int n = ibv_poll_cq(sends_.get(), static_cast<int>(entries.size()), entries.data());
    for (int i = 0; i < n; ++i) completed(entries[static_cast<std::size_t>(i)]);
    if (n > 0) events += static_cast<unsigned>(n);
    if (n < static_cast<int>(entries.size())) break;
  }
  return events;
}

// One entry tells of all requests up to its own. If it is the first error of a queue pair, it is the cause of those
// that follow ("flushed"): these end with what became of the peer, or with the broken connection.
//
// With no device or port of mine there is no peer either, whatever the request's own error is. Some errors come before the
// port is known to be down: soft-RoCE has no route for a packet any more, and ends its request as a failed local operation,
// while the kernel is still on its way to tell the adapter. What such an error means is left open for as long as that may
// take (peer::unexplained): nothing of the queue pair is retired, so that nobody is told anything by then, and decide() ends all.
void verbs_transport::completed(const ibv_wc& wc) noexcept {
  const std::uint32_t name = name_of_id(wc.wr_id), sequence = sequence_of_id(wc.wr_id);
  const std::uint32_t place = name & line_mask;
  if (place >= lines_.size() || lines_[place]->out.name() != name || !lines_[place]->out.is_open()) return;  // of a dropped one
  peer& p = *lines_[place];
  p.quiet_since = now();
  if (p.unexplained.failed()) {
    // Or the cause, behind what it flushed.
    if (p.unexplained.native() == IBV_WC_WR_FLUSH_ERR) p.unexplained = completion_error(wc, p.rank);
    return;
  }
  const auto end_with = [&](const status& s) { return [&](const posted& what) { finish(p, what, s); }; };
  if (wc.status == IBV_WC_SUCCESS) return p.out.retire(sequence, end_with({}));

  p.out.retire(sequence - 1, end_with({}));
  status why = completion_error(wc, p.rank);
  if (!p.failing) {
    const std::string trouble = why.code() == errc::invalid ? std::string{} : manager_.device_trouble();
    if (why.code() == errc::peer_dead || !trouble.empty()) {
      hear_rings();  // perhaps it has said goodbye
      handle_events();
      if (p.alive()) end_peer(p, rank_died(p.rank, std::string{why.text()} + perhaps_since(p.rank, trouble), why.native()));
    } else {
      fail(p, wc.status == IBV_WC_WR_FLUSH_ERR ? why : broken_connection(p.rank, why.text()));
      if (may_be_local(wc.status)) return await_explanation(p, std::move(why));
    }
  } else if (wc.status == IBV_WC_WR_FLUSH_ERR) {
    why = p.failure;
  }
  p.out.retire(sequence, end_with(p.alive() ? why : p.life.end()));
}

void verbs_transport::finish(peer& p, const posted& what, const status& outcome) noexcept {
  --in_flight_;
  use(what, -1);
  ended(p, what, outcome);
}

void verbs_transport::ended(peer& p, const posted& what, const status& outcome) noexcept {
  if (what.kind == work::swap) return swap_tried(swaps_[what.index], outcome);
  if (what.kind == work::probe) return void(p.probing = false);
  if (what.kind == work::atomic && what.index && outcome.ok() && !bounce_.answered(what.index)) {
    bounce_.give_back(what.index, false);
    return tell(p, what.done, unanswered(p.rank));  // it took effect, so the peer lost nothing
  }
  if (what.index) bounce_.give_back(what.index, outcome.ok());
  if (what.kind == work::flush) {
    --p.flushes;
    // What failed before it without a completion is what it reports, and no later flush again.
    if (outcome.failed() && p.unreported.failed()) return what.done ? what.done->finish(std::exchange(p.unreported, {})) : void();
  }
  // Nobody asked how it would end. What was lost upon a peer that lives, the peer may be waiting for.
  if (!what.done && outcome.failed()) p.losing = true;
  tell(p, what.done, outcome);
}

void verbs_transport::tell(peer& p, completion* done, const status& outcome) noexcept {
  if (done) outcome.ok() ? done->finish() : done->finish(outcome);
  else if (outcome.failed() && p.unreported.ok()) p.unreported = outcome;
}

// --- flush -------------------------------------------------------------------------------------------------------------
bool verbs_transport::flush(rank_t rank, completion* done) noexcept {
  peer* one = rank == no_rank ? nullptr : peer_of(rank);
  if (rank != no_rank && !one) return false;
  const std::span<peer* const> all{lines_};
  const std::span<peer* const> peers = one ? std::span<peer* const>{&one, 1} : all;

  // Something was posted since the last flush that has ended.
  const auto is_owed = [](const peer& p) { return p.alive() && p.out.is_open() && (p.flushes || p.out.head() != p.flushed); };
  std::uint32_t owed = 0;
  if (!one && waiting_) return false;  // some of those with a backlog are in no line yet
  for (const peer* p : peers) {
    if (p->failing || p->swaps || p->waiting || (is_owed(*p) && !has_room(*p, 1))) return false;
    owed += is_owed(*p);
  }
  if (in_flight_ + owed > total_depth) return false;

  const auto ends = [&](const status& outcome) {
    if (!done) return;
    done->begin();
    outcome.ok() ? done->finish() : done->finish(outcome);
  };
  bool told = false;
  for (peer* p : peers) {
    if (p->unreported.failed()) ends(std::exchange(p->unreported, {})), told = true;
    else if (!p->alive() && one) ends(p->life.end()), told = true;
    if (is_owed(*p)) post_flush(*p, done), told = true;
  }
  if (!told) ends({});
  if (sleep_.armed()) ::eventfd_write(notify_.get(), 1);
  return true;
}

void verbs_transport::post_flush(peer& p, completion* done) noexcept {
  const address_blob there = address_of(p.rank);
  ibv_sge sge{reinterpret_cast<std::uint64_t>(scratch_.base + 8), 8, scratch_.mr->lkey};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_READ;
  wr.sg_list = &sge, wr.num_sge = 1;
  wr.wr.rdma.remote_addr = there.probe_address, wr.wr.rdma.rkey = there.probe_rkey;
  posted what;
  what.kind = work::flush, what.done = done;
  ++p.flushes;
  post(p, {&wr, 1}, {&what, 1});
  p.flushed = p.out.head();
}

}  // namespace tutti::verbs
