// What events do: messages arrive, take effect in their target's memory, return, fail.
//
// Why the order that clause 5 asks for holds. The times at which a message may take effect are drawn when it is
// submitted, and a signal that may not overtake gets a time not before those of what it must follow (submit.cpp). The
// target's adapter can only delay: it serves in order of arrival, and ties go to the smaller sequence number, which is
// the earlier submission. The signal of a put_signal that is to be seen later than its payload arrives takes no time in
// the adapter; at its time it falls in behind whatever has arrived by then, its payload and all that it must follow
// included, and what arrives later is served later. With target_must_progress the inbox keeps that order.
#include <atomic>
#include <cstring>

#include "providers/sim/net.h"

namespace tutti::sim {

namespace {

bool answers(op_kind k) noexcept {
  return k != op_kind::put && k != op_kind::signal && k != op_kind::put_signal;
}
bool is_atomic(op_kind k) noexcept {
  return k == op_kind::fetch_add || k == op_kind::compare_swap || k == op_kind::swap;
}

std::uint64_t changed(const rma_op& op, std::uint64_t word) noexcept {
  if (op.kind == op_kind::fetch_add) return word + op.operand;
  if (op.kind == op_kind::swap) return op.operand;
  return word == op.expected ? op.operand : word;
}

}  // namespace

// A far rank waits for an answer of this process meanwhile, and its other threads leave words of the fabric alone.
template <class Change>
std::uint64_t rank_transport::change_word(std::byte* p, Change change) noexcept {
  std::uint64_t old = 0;
  if (elsewhere()) {
    read(p, &old, sizeof old);
    const std::uint64_t now = change(old);
    write(&now, p, sizeof now);
    return old;
  }
  const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(p));
  old = word.load();
  while (!word.compare_exchange_weak(old, change(old))) {}
  return old;
}

std::uint32_t fabric::new_message() {
  if (free_messages.empty()) {
    messages.emplace_back();
    return static_cast<std::uint32_t>(messages.size() - 1);
  }
  const auto index = free_messages.back();
  free_messages.pop_back();
  return index;
}

void fabric::release(std::uint32_t index) {
  message& m = messages[index];
  if (--m.events) return;
  m.payload.clear();
  if (m.error.failed()) m.error = {};
  m.injected = m.signal_at = 0;
  m.lost = m.finished = m.halved = m.signalled = false;
  free_messages.push_back(index);
}

std::uint32_t fabric::new_ending(completion* done, status outcome) {
  if (free_endings.empty()) {
    endings.push_back({done, std::move(outcome)});
    return static_cast<std::uint32_t>(endings.size() - 1);
  }
  const auto index = free_endings.back();
  free_endings.pop_back();
  endings[index] = {done, std::move(outcome)};
  return index;
}

void fabric::handle(const event& e) {
  const auto index = static_cast<std::uint32_t>(e.arg);
  switch (e.kind) {
    case event_kind::run: return;
    case event_kind::dies: return die(e.who, e.at);
    case event_kind::noticed: return notice(e.who, e.at);
    case event_kind::datagram: return deliver_datagram(e);
    case event_kind::packet: return deliver_packet(e);
    case event_kind::credit: return give_credit(e);
    case event_kind::nic: return deliver_to_nic(e);
    case event_kind::hop: return hop(e);
    case event_kind::leave:  // a transport that has gone has let them go before
      if (rank_transport* net = ranks[e.who].transport) net->depart_next();
      break;
    case event_kind::flushed: {
      const ending done = std::move(endings[index]);
      free_endings.push_back(index);
      if (rank_transport* net = ranks[e.who].transport) {
        net->ready_.push_back(done);
        wake(e.who, e.at);
      }
      return;
    }
    case event_kind::read: {
      message& m = messages[index];
      rank_transport* net = ranks[m.origin].transport;
      std::byte* from = net ? net->local_memory(m.op.local, m.op.local_offset, m.op.bytes) : nullptr;
      if (from) net->read(from, m.payload.data(), m.op.bytes);
      m.lost = !from;
      break;
    }
    case event_kind::arrive: arrive(index, e.at); break;
    case event_kind::effect: perform(index, e.at); break;
    case event_kind::signal: second_half(index, e.at, false); break;
    case event_kind::late: second_half(index, e.at, true); break;
    case event_kind::land: {
      message& m = messages[index];
      if (!m.across && !same_node(m.origin, m.op.rank) && beside.bus_ns_per_byte > 0 && !is_atomic(m.op.kind)) {
        m.across = true;
        const ns first = e.at - net_link.wire(m.payload.size()) - m.spread;
        push(across_bus(m.origin, first, e.at, m.payload.size()), e.seq, event_kind::land, m.origin, index);
        return;
      }
      land(m, e.at);
      break;
    }
    case event_kind::local: finish(messages[index], {}, e.at); break;
    case event_kind::fail: {
      message& m = messages[index];
      finish(m, m.error, e.at, settle(m, m.error, e.at));
      break;
    }
  }
  release(index);
}

// The first byte is at the target's adapter: wait until the message before is through.
void fabric::arrive(std::uint32_t index, ns at) {
  message& m = messages[index];
  const rank_state& from = ranks[m.origin];
  if (from.dead && m.injected > from.died_at) {  // it never left
    m.lost = true;
    return;
  }
  const rank_t to = m.op.rank;
  const std::uint64_t bytes = answers(m.op.kind) ? 0 : m.op.bytes;
  const link& w = wire_between(m.origin, to);
  const bool node = same_node(m.origin, to);
  ns& busy = rx(to, node);
  const ns first = std::max(at, busy);
  ns when = std::max(first, at + m.spread) + w.wire(bytes);
  if (!node) when = across_bus(to, first, when, bytes);
  busy = when + w.gap;
  if (!node) when = after_task(to, when, beside.take + (answers(m.op.kind) ? 0 : beside.deliver));
  if (when == at) return perform(index, at);
  ++m.events;
  push(when, m.serial + 1, event_kind::effect, to, index);
}

status fabric::reachable(rank_t r, ns at) const {
  const rank_state& rs = ranks[r];
  if (rs.dead && rs.died_at <= at) return {errc::peer_dead, worded("rank ", r, " died"), r};
  if (rs.left) return {errc::peer_dead, worded("rank ", r, " left"), r, peer_left};
  if (!rs.transport) return {errc::peer_dead, worded("rank ", r, " has no transport"), r};
  return {};
}

void fabric::perform(std::uint32_t index, ns at) {
  message& m = messages[index];
  const rma_op& op = m.op;
  if (m.lost) return fail(index, {errc::invalid, "the source's region was dropped while a put was on its way"}, at);
  if (status s = reachable(op.rank, at); s.failed()) return fail(index, std::move(s), at);
  rank_transport& net = *ranks[op.rank].transport;
  if (par.target_must_progress && op.rank != progressing) {  // the whole of it, when its signal may be seen
    if (m.halved) return;
    return await_progress(index, at);
  }
  active();
  const bool has_signal = op.kind == op_kind::signal || op.kind == op_kind::put_signal;
  const bool moves = op.kind != op_kind::signal;
  const std::uint64_t bytes = is_atomic(op.kind) ? 8 : answers(op.kind) ? m.payload.size() : op.bytes;
  std::byte* at_data = moves ? net.memory(m.target, op.remote_offset, bytes) : nullptr;
  if ((moves && !at_data) || (has_signal && !net.memory(m.word, op.signal_offset, 8)))
    return fail(index, {errc::invalid, worded("a region of rank ", op.rank, " was dropped"), op.rank}, at);
  if (answers(op.kind)) {
    if (is_atomic(op.kind)) {
      const auto apply = [&op](std::uint64_t word) { return changed(op, word); };
      m.old = net.change_word(at_data, apply);
      if (par.broken == mutant::atomic_twice) net.change_word(at_data, apply);
      wake(op.rank, at);
    } else if (bytes) {
      net.read(at_data, m.payload.data(), bytes);
    }
    settle(m, {}, at);
    return answer(index, at);
  }
  if (op.kind == op_kind::put_signal && par.broken == mutant::signal_overtakes_payload && !m.signalled) {
    apply_signal(m, at);
    m.signalled = true;
    ++m.events;
    return push(at + 2 * wire_between(m.origin, op.rank).latency, m.serial + 2, event_kind::signal, op.rank, index);
  }
  if (moves) net.write(m.payload.data(), at_data, op.bytes);
  if (moves) touch(op.rank, at);
  if (m.halved && !par.target_must_progress) return;
  if (has_signal) apply_signal(m, at);
  settle(m, {}, at);
}

// A rank that has died makes no more progress, though by its own clock it lives on for a while.
void fabric::await_progress(std::uint32_t index, ns at) {
  message& m = messages[index];
  const rank_state& target = ranks[m.op.rank];
  if (target.dead) return fail(index, reachable(m.op.rank, target.died_at), at);
  ++m.events;
  target.transport->inbox_.push_back(index);
  wake(m.op.rank, at);
}

void fabric::second_half(std::uint32_t index, ns at, bool in_turn) {
  message& m = messages[index];
  if (m.error.failed() || m.lost) return;
  const bool port = same_node(m.origin, m.op.rank);
  ns last = rx(m.op.rank, port) - wire_between(m.origin, m.op.rank).gap;
  if (!port) last = std::max(last, task_free(m.op.rank));
  if (!in_turn && last > at) {  // what arrived before, its payload perhaps, is still in the adapter
    ++m.events;
    return push(last, m.serial + 2, event_kind::late, m.op.rank, index);
  }
  if (status s = reachable(m.op.rank, at); s.failed()) return fail(index, std::move(s), at);
  rank_transport& net = *ranks[m.op.rank].transport;
  if (par.target_must_progress) return await_progress(index, at);
  if (m.signalled) {  // the mutant's payload
    if (std::byte* to = net.memory(m.target, m.op.remote_offset, m.op.bytes))
      net.write(m.payload.data(), to, m.op.bytes);
  } else {
    if (!net.memory(m.word, m.op.signal_offset, 8))
      return fail(index, {errc::invalid, worded("a region of rank ", m.op.rank, " was dropped"), m.op.rank}, at);
    apply_signal(m, at);
  }
  settle(m, {}, at);
}

void fabric::apply_signal(message& m, ns at) {
  rank_transport& net = *ranks[m.op.rank].transport;
  net.change_word(net.memory(m.word, m.op.signal_offset, 8),
                  [&](std::uint64_t word) { return m.op.how == signal_how::add ? word + m.op.operand : m.op.operand; });
  active();
  if (!same_node(m.origin, m.op.rank)) ranks[m.op.rank].unseen += beside.poll;
  wake(m.op.rank, at);
}

// A get's data or an atomic's old value leaves through the target's adapter.
void fabric::answer(std::uint32_t index, ns at) {
  message& m = messages[index];
  const link& w = wire_between(m.origin, m.op.rank);
  const std::uint64_t bytes = is_atomic(m.op.kind) ? 0 : m.payload.size();
  const bool node = same_node(m.origin, m.op.rank);
  ns& busy = tx(m.op.rank, node);
  const ns leaves = std::max(node ? at : after_task(m.op.rank, at, beside.fetch + beside.transmit), busy);
  const ns wire = w.wire(bytes), left = node ? leaves + wire : across_bus(m.op.rank, leaves, leaves + wire, bytes);
  m.spread = left - leaves - wire;
  busy = left + w.gap;
  ++m.events;
  carry(left - wire + extra(w.latency), m.op.rank, m.origin, bytes, w.latency + wire, {0, m.serial + 3, index, m.origin, event_kind::land});
}

void fabric::land(message& m, ns at) {
  rank_transport* net = ranks[m.origin].transport;
  if (!net || ranks[m.origin].dead) return;
  const rma_op& op = m.op;
  bool good = true;
  if (is_atomic(op.kind)) {
    std::byte* to = net->local_memory(op.local, op.local_offset, 8);
    if (to) net->write(&m.old, to, 8);
    good = to != nullptr;
  } else if (op.kind == op_kind::get) {
    std::byte* to = net->local_memory(op.local, op.local_offset, op.bytes);
    if (to) net->write(m.payload.data(), to, op.bytes);
    good = to != nullptr;
  } else {
    const std::byte* from = m.payload.data();
    for (const slice& s : std::span(op.scatter, op.slices)) {
      std::byte* to = net->local_memory(s.local, s.local_offset, s.bytes);
      if (to) net->write(from, to, s.bytes);
      good &= to != nullptr;
      from += s.bytes;
    }
  }
  finish(m, good ? status{} : status{errc::invalid, "the result's region was dropped while it was on its way"}, at);
}

// Tells the origin once how the operation ended for it; a failure that comes later waits for the next flush.
void fabric::finish(message& m, const status& s, ns at, bool told_by_flush) {
  rank_transport* net = ranks[m.origin].transport;
  if (!net || ranks[m.origin].dead) return;
  if (m.finished || !m.op.done) {
    if (s.failed() && !told_by_flush) net->errors_.emplace_back(m.op.rank, s);
  } else {
    net->ready_.push_back({m.op.done, s});
  }
  if (!m.finished || s.failed()) {
    if (m.op.done || s.failed()) wake(m.origin, at);
  }
  m.finished = true;
}

// The message no longer waits to take effect: flushes that waited for it go on.
bool fabric::settle(message& m, const status& s, ns at) {
  rank_state& from = ranks[m.origin];
  if (!from.transport || m.serial < from.opened_at) return false;
  if (!std::exchange(m.settled, true)) --from.in_flight;
  if (from.flushes == 0) return false;
  bool told = false;
  const link& w = wire_between(m.origin, m.op.rank);
  std::erase_if(from.transport->flushes_, [&](auto& f) {
    if (f.before <= m.serial || (f.peer != no_rank && f.peer != m.op.rank)) return false;
    told |= s.failed();
    if (s.failed() && f.error.ok()) f.error = s;
    if (--f.remaining) return false;
    const ns back = s.ok() ? at + way(m.op.rank, m.origin) + extra(w.latency) : at;
    push(back, draw(), event_kind::flushed, m.origin, new_ending(f.done, f.error));
    --from.flushes;
    return true;
  });
  return told;
}

// The origin hears of a failure after the way back; of a death not before the fabric notices it.
void fabric::fail(std::uint32_t index, status s, ns at) {
  message& m = messages[index];
  const rank_state& peer = ranks[m.op.rank];
  const ns heard = at + way(m.op.rank, m.origin);
  m.error = std::move(s);
  ++m.events;
  push(peer.dead ? std::max(heard, peer.noticed_at) : heard, draw(), event_kind::fail, m.origin, index);
}

void fabric::die(rank_t r, ns at) {
  rank_state& rs = ranks[r];
  if (rs.dead) return;
  rs.dead = true, ++died;
  rs.died_at = at;
  rs.noticed_at = at + to_ns(par.notice_us) + extra(to_ns(par.notice_us) / 4);
  ++rs.ticket;
  if (mode != mode_t::outside && !rs.done_here) --live;
  push(rs.noticed_at, draw(), event_kind::noticed, r, 0);
  if (rs.transport) {
    for (const auto index : std::exchange(rs.transport->inbox_, {})) {
      fail(index, reachable(r, at), at);
      release(index);
    }
  }
}

void fabric::notice(rank_t dead, ns at) {
  active();
  for (auto& [round, g] : gatherings)
    if (!g->table && g->error.ok() && !g->given[dead])
      g->error = {errc::peer_dead, worded("rank ", dead, " died before the exchange"), dead};
  for (rank_t r = 0; r < par.ranks; ++r)
    if (r != dead) wake(r, at);
}

}  // namespace tutti::sim
