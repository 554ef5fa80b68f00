#include "providers/verbs/peer_table.h"

#include <algorithm>

#include "providers/verbs/death.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

// From a local error to the port's being down: some milliseconds of the kernel's, on a machine that may be oversubscribed. With
// what else it takes to tell of a death (death.h) it stays within clause 10's second.
constexpr auto longest_explanation = 300ms, between_questions = 5ms;
constexpr std::chrono::nanoseconds for_ever = 1h, while_draining = 10ms;  // sleeps

time_point now() noexcept { return std::chrono::steady_clock::now(); }

// It says something of this end alone, or nothing: the cause may be a port of mine that goes down.
bool may_be_local(ibv_wc_status s) noexcept {
  return s == IBV_WC_LOC_QP_OP_ERR || s == IBV_WC_FATAL_ERR || s == IBV_WC_GENERAL_ERR || s == IBV_WC_WR_FLUSH_ERR;
}

}  // namespace

status peer_table::open(const open_params& p) {
  self_ = p.rank;
  peers_.resize(p.size);
  connection_manager::resources r;
  r.device = &end_.device(), r.pd = end_.pd(), r.sends = end_.sends(), r.in = &end_.in(), r.limits = end_.limits();
  r.rank = p.rank, r.size = p.size, r.key = p.key, r.one_host = p.one_host, r.host = this_host();
  r.notify_fd = end_.notify_fd();
  return manager_.open(r);
}

status peer_table::connect(shared_blobs addresses) {
  const auto sound = [](std::span<const std::byte> blob) {
    const auto a = blob_as<address_blob>(blob);
    return a && a->version == wire_version;
  };
  if (status s = book_.open(addresses, static_cast<std::uint32_t>(peers_.size()), this_host(), "verbs", sound); s.failed()) return s;
  manager_.meet(std::move(addresses));
  return {};
}

void peer_table::close() noexcept {
  manager_.close();  // and with it all queue pairs
  const status closed{errc::peer_dead, "closed here"};  // so short that it needs no memory
  const auto how = [&](const peer& p) { return p.alive() ? closed : p.life.end(); };
  for (auto& p : peers_)
    if (p) waiting_.end(*p, how(*p));
  for (peer* p : lines_)
    p->out.retire(p->out.head() - 1, [&](const posted& what) { out_.finish(*p, what, how(*p)); });
}

peer* peer_table::make(rank_t rank) noexcept {
  try {
    peers_[rank] = std::make_unique<peer>();
  } catch (...) {
    return nullptr;
  }
  peers_[rank]->rank = rank;
  if (!device_gone_.empty()) peers_[rank]->life.ends(rank_died(rank, device_gone_), told_by::connection);
  return peers_[rank].get();
}

status peer_table::want(peer& p) noexcept {
  status s = manager_.want(p.rank);
  if (s.failed()) return s;
  handle_events();  // towards itself it is connected now
  // The connection that came may have been forgotten for want of memory: what waits from here on needs another.
  return p.alive() && !p.ready ? manager_.want(p.rank) : s;
}

// For a sentence on its death: my device's trouble, if any, or the ranks of its host.
std::string peer_table::perhaps_since(rank_t rank, const std::string& trouble) const noexcept {
  return sentence([&] { return trouble.empty() ? book_.and_its_host(rank) : trouble; });
}

unsigned peer_table::handle_events() noexcept {
  if (!manager_.has_events()) return 0;
  manager_.take_events(events_);
  for (const connection_manager::event& n : events_) {
    if (n.what == connection_manager::event::kind::device_lost) {
      device_gone_ = sentence([&] { return "it cannot be reached" + manager_.device_trouble(); });
      for (auto& p : peers_)
        if (p) end(*p, rank_died(p->rank, device_gone_));
      continue;
    }
    if (peer* p = of(n.rank)) handle(*p, n);
  }
  const auto heard = static_cast<unsigned>(events_.size());
  events_.clear();
  return heard;
}

void peer_table::handle(peer& p, const connection_manager::event& n) noexcept {
  using kind = connection_manager::event::kind;
  switch (n.what) {
    case kind::connected: adopt(p, n); break;
    case kind::sleeps: p.rings = true; break;
    case kind::stale: broke(p, n, "the peer has made it anew"); break;
    case kind::broken: broke(p, n, "the adapter has put the queue pair in error"); break;
    case kind::ended: end(p, rank_ended(p.rank), told_by::its_process); break;
    case kind::left: end(p, rank_left(p.rank), told_by::itself); break;
    case kind::refused:
      end(p, {errc::peer_dead, worded("rank ", p.rank, " has no queue pair to spare"), p.rank});
      break;
    case kind::silent:
      if (manager_.process_lives(p.rank)) end(p, rank_left(p.rank));
      else end(p, rank_died(p.rank, "it does not answer", 0, perhaps_since(p.rank, manager_.device_trouble())));
      break;
    case kind::unreachable:
      end(p, {errc::peer_dead, worded("rank ", p.rank, " cannot be reached through port ", end_.device().where.port, " of ", end_.device().where.device,
                                      ": its process answers over TCP, but nothing passes between the adapters",
                                      manager_.device_trouble()), p.rank});
      break;
    case kind::lost:
      p.lost = {errc::fabric, worded("operations of rank ", p.rank, " upon this one were lost when their "
                               "connection broke; what waits for them waits in vain"), p.rank};
      break;
    case kind::device_lost: break;
  }
}

// Events are handled late. The peer may have said goodbye meanwhile, which comes by the queue pair itself and overtakes the note
// that confirms it; and the queue pair may have been dropped, and another stand in its place. Only this thread drops those
// that were told of (by forget()), so one that stands now stands until then.
void peer_table::adopt(peer& p, const connection_manager::event& n) noexcept {
  if (!p.alive() || p.failing || !manager_.stands(p.rank, n.number)) return;
  if (!p.out.is_open()) {
    try {
      if (p.line == no_line) {
        lines_.push_back(&p);
        p.line = static_cast<std::uint32_t>(lines_.size() - 1);
        if (elsewhere(p.rank)) ++elsewhere_;
      }
      p.out.open(n.qp, end_.limits().depth, p.line | ++p.opened << line_bits);
    } catch (...) {
      manager_.forget(p.rank);
      return waiting_.end(p, {errc::no_resource, "no memory for a connection", p.rank});
    }
    p.flushed = p.flushes = 0;
    p.quiet_since = now();
    announced_.connected(p, n.told);
  }
  p.confirmed = n.confirmed;
  p.rings |= n.sleeps;
  p.lacks = {};
  p.look_again();
  packets_.connected(p);
}

unsigned peer_table::hear_arrivals() noexcept {
  const unsigned heard = end_.in().take(rings_) + std::exchange(late_, 0);
  hear_packets();
  if (rings_.empty()) return heard;
  handle_events();  // whoever rings is connected, and the connection manager knew first
  for (const receiver::item& item : rings_) {
    peer* p = item.from < peers_.size() ? of(item.from) : nullptr;
    if (!p) continue;
    switch (item.kind) {
      case ring_kind::announce: announced_.heard_announce(*p); break;
      case ring_kind::confirm: announced_.heard_confirm(*p); break;
      case ring_kind::bye: end(*p, rank_left(p->rank), told_by::itself); break;
      case ring_kind::bell: break;
    }
  }
  rings_.clear();
  return heard;
}

// Messages first: what a peer says may be of after them.
void peer_table::hear_packets() noexcept {
  receiver& in = end_.in();
  for (std::uint32_t place; (place = in.next_message()) != receiver::none;)
    packets_.arrived(*peers_[in.origin_of(place)], place);  // which asked, so that it is known
  for (packet_news n; in.next_news(n);) {
    peer* const p = of(n.from);
    if (!p) continue;
    if (status s = packets_.heard(*p, n); s.failed()) end(*p, std::move(s));
  }
}

// An error at the peer is told twice: by an event of the adapter, and by the peer, which makes its end anew. Whichever is
// heard last comes when another queue pair may stand here already, which is in order.
void peer_table::broke(peer& p, const connection_manager::event& n, const char* why) noexcept {
  if (!p.out.is_open()) {
    manager_.forget(p.rank, n.number);
    return ask_anew(p);
  }
  if (p.out.qp()->qp_num == n.number) out_.fail(p, broken_connection(p.rank, why));
}

void peer_table::end(peer& p, status how, told_by who) noexcept {
  if (!p.life.ends(std::move(how), who)) return;
  waiting_.end(p, p.life.end());
  packets_.ended(p);
  out_.fail(p, p.life.end());
  p.failure = p.life.end();
}

// The port is asked, since its event may come late. Where it stands for all of that time, or the peer has ended meanwhile, the
// first request ends with its own error, and those behind it with the broken connection.
void peer_table::decide(peer& p) noexcept {
  if (p.alive() && now() < p.drain_until && now() < p.ask_port_at) return;
  p.ask_port_at = now() + between_questions;
  const std::string trouble = manager_.device_trouble();
  if (p.alive() && trouble.empty() && now() < p.drain_until) return;
  if (!trouble.empty()) end(p, rank_died(p.rank, p.unexplained.text(), p.unexplained.native(), trouble));
  const status why = p.alive() ? std::exchange(p.unexplained, {}) : p.life.end();
  p.out.retire(p.out.head() - p.out.in_flight(), [&](const posted& what) { out_.finish(p, what, why); });
  give_up(p);
}

void peer_table::close_drained() noexcept {
  for (peer* p : lines_)
    if (p->unexplained.failed()) decide(*p);
    else if (p->failing && (p->out.in_flight() == 0 || now() >= p->drain_until)) give_up(*p);
}

// The next operation asks the connection manager for another queue pair.
void peer_table::give_up(peer& p) noexcept {
  if (!p.out.is_open()) return;
  out_.fail(p, broken_connection(p.rank, "it was given up"));
  out_.drained(p);
  announced_.dropped(p);
  p.confirmed = false;
  p.unexplained = {};
  manager_.forget(p.rank);
  late_ += end_.in().take(rings_);  // the rest of what came by it
  hear_packets();
  packets_.dropped(p);
  if (std::exchange(p.losing, false) && p.alive()) manager_.confess(p.rank);
  ask_anew(p);
}

void peer_table::give_up_all(std::string_view why) noexcept {
  for (auto& p : peers_)
    if (p) waiting_.end(*p, broken_connection(p->rank, why));
  for (peer* p : lines_) give_up(*p);
}

// What waits needs another queue pair. If there can be none, nothing would ever end it.
void peer_table::ask_anew(peer& p) noexcept {
  if (!p.waiting && !packets_.wants_connection(p)) return;
  if (status s = manager_.want(p.rank); s.failed()) {
    waiting_.end(p, s);
    p.lacks = std::move(s);
  }
}

unsigned peer_table::poll_sends() noexcept {
  std::array<ibv_wc, 16> entries;
  unsigned events = 0;
  for (int round = 0; round < 8; ++round) {
    const int n = ibv_poll_cq(end_.sends(), static_cast<int>(entries.size()), entries.data());
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
void peer_table::completed(const ibv_wc& wc) noexcept {
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
  const auto end_with = [&](const status& s) { return [&](const posted& what) { out_.finish(p, what, s); }; };
  if (wc.status == IBV_WC_SUCCESS) return p.out.retire(sequence, end_with({}));

  p.out.retire(sequence - 1, end_with({}));
  status why = completion_error(wc, p.rank);
  if (!p.failing) {
    const std::string trouble = why.code() == errc::invalid ? std::string{} : manager_.device_trouble();
    if (why.code() == errc::peer_dead || !trouble.empty()) {
      hear_arrivals();  // perhaps it has said goodbye
      handle_events();
      if (p.alive()) end(p, rank_died(p.rank, why.text(), why.native(), perhaps_since(p.rank, trouble)));
    } else {
      out_.fail(p, wc.status == IBV_WC_WR_FLUSH_ERR ? why : broken_connection(p.rank, why.text()));
      if (may_be_local(wc.status)) {  // peer::unexplained
        p.unexplained = std::move(why);
        p.drain_until = now() + longest_explanation;
        return;
      }
    }
  } else if (wc.status == IBV_WC_WR_FLUSH_ERR) {
    why = p.failure;
  }
  p.out.retire(sequence, end_with(p.alive() ? why : p.life.end()));
}


unsigned peer_table::hear() noexcept { return handle_events() + hear_arrivals(); }

// Asked of peers on other hosts that have been quiet; those on this host are watched.
void peer_table::probe(peer& p) noexcept {
  const bool can = !p.probing && p.confirmed && !p.failing && p.alive() && out_.has_room(p, 1);
  if (can && now() - p.quiet_since >= quiet_for) out_.probe(p);
}

status peer_table::health(peer& p) noexcept {
  if (p.alive()) {
    manager_.look_at_device();
    if (!p.confirmed) manager_.look_after(p.rank);
    else if (elsewhere(p.rank)) probe(p);
    handle_events();
  }
  return !p.alive() ? p.life.end() : p.unreported.failed() ? p.unreported : p.lost.failed() ? p.lost : p.lacks;
}

bool peer_table::prepare_sleep() noexcept {
  if (!std::exchange(sleeps_, true)) manager_.owner_sleeps();
  announced_.announce(lines_);
  if (elsewhere_)
    for (peer* p : lines_)
      if (elsewhere(p->rank)) probe(*p);
  end_.forget_notices();  // before the look at what was notified of
  return !manager_.has_events();
}

std::chrono::nanoseconds peer_table::patience() noexcept {
  if (const auto nap = announced_.next_nap(); nap.count()) return nap;
  if (out_.draining()) return while_draining;
  return elsewhere_ ? between_probes : for_ever;
}

bool peer_table::goodbye_said() noexcept {
  std::size_t said = 0;
  for (peer* p : lines_) {
    const bool hears = p->alive() && p->confirmed && !p->failing;
    if (hears && !p->waiting && !p->goodbye) p->goodbye = out_.ring(*p, ring_kind::bye);
    said += !hears || (p->goodbye && p->out.in_flight() == 0);
  }
  return said == lines_.size() && !waiting_.any();
}

}  // namespace tutti::verbs
