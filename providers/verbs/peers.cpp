// How peers come and go: what the connection manager has found out, what they say by their rings, and how a queue pair that is in
// error is drained and dropped.
#include <arpa/inet.h>

#include "core/base/listing.h"
#include "providers/verbs/death.h"
#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_drain = 200ms;   // of completions that an adapter owes
// From a local error to the port's being down: some milliseconds of the kernel's, on a machine that may be oversubscribed. With what
// else it takes to tell of a death (death.h) it stays within clause 10's second.
constexpr auto longest_explanation = 300ms, between_questions = 5ms;

}  // namespace

peer* verbs_transport::peer_of(rank_t rank) noexcept {
  if (peers_[rank]) return peers_[rank].get();
  try {
    peers_[rank] = std::make_unique<peer>();
  } catch (...) {
    return nullptr;
  }
  peers_[rank]->rank = rank;
  if (!device_gone_.empty()) peers_[rank]->life.ends(rank_died(rank, device_gone_), told_by::connection);
  return peers_[rank].get();
}

bool verbs_transport::elsewhere(rank_t rank) const noexcept { return address_of(rank).host != host_; }

std::string verbs_transport::perhaps_since(rank_t rank, const std::string& trouble) const {
  if (!trouble.empty() || !elsewhere(rank)) return trouble;
  const host_id there = address_of(rank).host;
  return and_its_host(size_, [&](rank_t r) { return address_of(r).host == there; });
}

unsigned verbs_transport::handle_events() noexcept {
  if (!manager_.has_events()) return 0;
  manager_.take_events(events_);
  for (const connection_manager::event& n : events_) {
    using kind = connection_manager::event::kind;
    if (n.what == kind::device_lost) {
      device_gone_ = "it cannot be reached" + manager_.device_trouble();
      for (auto& p : peers_)
        if (p) end_peer(*p, rank_died(p->rank, device_gone_));
      continue;
    }
    peer* p = peer_of(n.rank);
    if (!p) continue;
    switch (n.what) {
      case kind::connected: adopt(*p, n); break;
      case kind::sleeps: p->rings = true; break;
      case kind::stale: fail(*p, n, "the peer has made it anew"); break;
      case kind::broken: fail(*p, n, "the adapter has put the queue pair in error"); break;
      case kind::ended: end_peer(*p, rank_died(p->rank, "its process has ended"), told_by::its_process); break;
      case kind::left: end_peer(*p, rank_left(p->rank), told_by::itself); break;
      case kind::refused:
        end_peer(*p, {errc::peer_dead, "rank " + std::to_string(p->rank) + " has no queue pair to spare", p->rank});
        break;
      case kind::silent:
        if (manager_.process_lives(p->rank)) end_peer(*p, rank_left(p->rank));
        else end_peer(*p, rank_died(p->rank, "it does not answer" + perhaps_since(p->rank, manager_.device_trouble())));
        break;
      case kind::unreachable:
        end_peer(*p, {errc::peer_dead, "rank " + std::to_string(p->rank) + " cannot be reached through " + device_.text() +
                                       ": its process answers over TCP, but nothing passes between the adapters" +
                                       manager_.device_trouble(), p->rank});
        break;
      case kind::lost:
        p->lost = {errc::fabric, "operations of rank " + std::to_string(p->rank) + " upon this one were lost when their "
                                 "connection broke; what waits for them waits in vain", p->rank};
        break;
      case kind::device_lost: break;
    }
  }
  const auto heard = static_cast<unsigned>(events_.size());
  events_.clear();
  return heard;
}

// Events are handled late. The peer may have said goodbye meanwhile, which comes by the queue pair itself and overtakes the note
// that confirms it; and the queue pair may have been dropped, and another stand in its place. Only this thread drops those
// that were told of (by forget()), so one that stands now stands until then.
void verbs_transport::adopt(peer& p, const connection_manager::event& n) noexcept {
  if (!p.alive() || p.failing || !manager_.stands(p.rank, n.number)) return;
  if (!p.out.is_open()) {
    try {
      if (p.line == no_line) {
        lines_.push_back(&p);
        p.line = static_cast<std::uint32_t>(lines_.size() - 1);
        if (elsewhere(p.rank)) ++peers_elsewhere_;
      }
      p.out.open(n.qp, limits_.depth, p.line | ++p.opened << line_bits);
    } catch (...) {
      manager_.forget(p.rank);
      return end_backlog(p, {errc::no_resource, "no memory for a connection", p.rank});
    }
    p.flushed = p.flushes = 0;
    p.told = p.sure = n.told;
    p.quiet_since = now();
    if (!p.told) ++untold_;
  }
  p.confirmed = n.confirmed;
  p.rings |= n.sleeps;
  look_again(p);
  if (p.waiting) pump(p);
}

unsigned verbs_transport::hear_rings() noexcept {
  const unsigned heard = in_.take(rings_);
  if (rings_.empty()) return heard;
  handle_events();  // whoever rings is connected, and the connection manager knew first
  for (const receiver::item& item : rings_) {
    peer* p = item.from < size_ ? peer_of(item.from) : nullptr;
    if (!p) continue;
    switch (item.kind) {
      case ring_kind::announce:
        p->rings = true;
        if (!std::exchange(p->confirm_owed, true)) ++confirms_owed_;
        confirm(*p);
        break;
      case ring_kind::confirm:
        if (p->told && !std::exchange(p->sure, true)) --unsure_;
        break;
      case ring_kind::bye: end_peer(*p, rank_left(p->rank), told_by::itself); break;
      case ring_kind::bell: break;
    }
  }
  rings_.clear();
  return heard;
}

// Not upon a queue pair that comes later: that is connected with the wish known (connection_manager::event::sleeps).
void verbs_transport::confirm(peer& p) noexcept {
  if (p.out.is_open() && !p.failing && !post_ring(p, ring_kind::confirm)) return;
  p.confirm_owed = false;
  --confirms_owed_;
}

// An empty write with an immediate. A few requests are kept for these in every queue: see has_room().
bool verbs_transport::post_ring(peer& p, ring_kind kind) noexcept {
  if (p.out.room() == 0 || in_flight_ >= total_depth + queue_depth) return false;
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.imm_data = htonl(make_ring(kind, rank_));
  wr.send_flags = IBV_SEND_SOLICITED;
  posted what;
  what.kind = kind == ring_kind::bye ? work::probe : work::write;
  post(p, {&wr, 1}, {&what, 1});
  return true;
}

// --- the end of a queue pair, or of a peer ----------------------------------------------------------------------------
// From here on nothing is posted to it. The adapter completes what is in flight with "flushed"; when that is through, the
// queue pair is dropped, and the next operation asks the connection manager for another.
void verbs_transport::fail(peer& p, status why) noexcept {
  if (!p.out.is_open() || p.failing) return;
  p.failing = true;
  p.ready = false;
  p.failure = std::move(why);
  p.drain_until = now() + longest_drain;
  ++draining_;
  ibv_qp_attr q{};
  q.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(p.out.qp(), &q, IBV_QP_STATE);
}

// An error at the peer is told twice: by an event of the adapter, and by the peer, which makes its end anew. Whichever is
// heard last comes when another queue pair may stand here already, which is in order.
void verbs_transport::fail(peer& p, const connection_manager::event& n, const char* why) noexcept {
  if (!p.out.is_open()) {
    manager_.forget(p.rank, n.number);
    return ask_anew(p);
  }
  if (p.out.qp()->qp_num == n.number) fail(p, broken_connection(p.rank, why));
}

void verbs_transport::end_peer(peer& p, status how, told_by who) noexcept {
  if (!p.life.ends(std::move(how), who)) return;
  end_backlog(p, p.life.end());
  if (p.out.is_open() && !p.failing) fail(p, p.life.end());
  p.failure = p.life.end();
}

void verbs_transport::await_explanation(peer& p, status first) noexcept {
  p.unexplained = std::move(first);
  p.drain_until = now() + longest_explanation;
}

// The port is asked, since its event may come late. Where it stands for all of that time, or the peer has ended meanwhile, the
// first request ends with its own error, and those behind it with the broken connection.
void verbs_transport::decide(peer& p) noexcept {
  if (p.alive() && now() < p.drain_until && now() < p.ask_port_at) return;
  p.ask_port_at = now() + between_questions;
  const std::string trouble = manager_.device_trouble();
  if (p.alive() && trouble.empty() && now() < p.drain_until) return;
  if (!trouble.empty()) end_peer(p, rank_died(p.rank, std::string{p.unexplained.text()} + trouble, p.unexplained.native()));
  const status why = p.alive() ? std::exchange(p.unexplained, {}) : p.life.end();
  p.out.retire(p.out.head() - p.out.in_flight(), [&](const posted& what) { finish(p, what, why); });
  give_up(p);
}

void verbs_transport::close_drained() noexcept {
  for (peer* p : lines_)
    if (p->unexplained.failed()) decide(*p);
    else if (p->failing && (p->out.in_flight() == 0 || now() >= p->drain_until)) give_up(*p);
}

// Ends what is still on record, whether the adapter will ever say so or not, and drops the queue pair.
void verbs_transport::give_up(peer& p) noexcept {
  if (!p.out.is_open()) return;
  fail(p, broken_connection(p.rank, "it was given up"));
  p.out.retire(p.out.head() - 1, [&](const posted& what) { finish(p, what, p.failure); });
  p.out.close();
  if (p.told && !p.sure) --unsure_;
  if (!p.told) --untold_;
  p.told = p.sure = p.confirmed = p.failing = false;
  p.unexplained = {};
  --draining_;
  manager_.forget(p.rank);
  if (std::exchange(p.losing, false) && p.alive()) manager_.confess(p.rank);
  ask_anew(p);
}

// What waits needs another queue pair. If there can be none, nothing would ever end it.
void verbs_transport::ask_anew(peer& p) noexcept {
  if (!p.waiting) return;
  if (status s = manager_.want(p.rank); s.failed()) end_backlog(p, s);
}

// Does its adapter still answer? Asked of peers on other hosts that have been quiet; those on this host are watched.
void verbs_transport::probe(peer& p) noexcept {
  if (p.probing || !p.confirmed || p.failing || !p.alive() || !has_room(p, 1) || now() - p.quiet_since < quiet_for) return;
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_WRITE;
  posted what;
  what.kind = work::probe;
  p.probing = true;
  post(p, {&wr, 1}, {&what, 1});
}

status verbs_transport::health(rank_t rank) noexcept {
  peer* p = peer_of(rank);
  if (!p) return {errc::no_resource, "no memory for a peer", rank};
  if (!p->alive() || rank == rank_) return p->life.end();
  progress();
  if (!p->alive()) return p->life.end();
  manager_.look_at_device();
  if (!p->confirmed) manager_.look_after(rank);
  else if (elsewhere(rank)) probe(*p);
  handle_events();
  return !p->alive() ? p->life.end() : p->unreported.failed() ? p->unreported : p->lost;
}

}  // namespace tutti::verbs
