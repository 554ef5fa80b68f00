// Taking operations: what they cost their rank, and when they may arrive.
//
// Everything random about a message is drawn here. A put's source is read as late as its completion allows; the payload
// of a put_signal may be there long before its signal; anything may overtake anything, except that a signal is given a
// time no earlier than those of the messages it must follow. Those are found among the rank's flights: what has been
// taken and is not yet in effect. What is in effect cannot be overtaken.
#include <algorithm>
#include <cstring>

#include "providers/sim/net.h"

namespace tutti::sim {

namespace {

bool posted(op_kind k) noexcept { return k == op_kind::put || k == op_kind::signal || k == op_kind::put_signal; }
bool signals(op_kind k) noexcept { return k == op_kind::signal || k == op_kind::put_signal; }

// Bytes that travel, in either direction, besides header and words.
std::uint64_t payload_of(const rma_op& op) noexcept {
  switch (op.kind) {
    case op_kind::put:
    case op_kind::put_signal:
    case op_kind::get: return op.bytes;
    case op_kind::get_scatter: {
      std::uint64_t sum = 0;
      for (const slice& s : std::span(op.scatter, op.slices)) sum += s.bytes;
      return sum;
    }
    default: return 0;
  }
}

}  // namespace

// Clause 13 leaves these to the caller; a simulator that writes somewhere else would hide the caller's error.
status rank_transport::check(message& m, std::uint64_t bytes) const noexcept {
  const rma_op& op = m.op;
  if (op.rank >= f_.par.ranks) return {errc::invalid, worded("no rank ", op.rank)};
  if (bytes > f_.caps.max_bytes) return {errc::invalid, "more than max_bytes in one operation"};
  if (op.kind == op_kind::get_scatter && op.slices > f_.caps.max_slices)
    return {errc::invalid, "more than max_slices slices"};
  if (op.kind != op_kind::signal) {
    const std::uint64_t touched = posted(op.kind) || bytes || op.kind == op_kind::get ? bytes : 8;
    if (!resolve(op.remote, op.rank, op.remote_offset, op.kind == op_kind::get_scatter ? bytes : touched, m.target))
      return {errc::invalid, worded("outside the segment of rank ", op.rank)};
  }
  if (signals(op.kind) && (op.signal_offset % 8 || !resolve(op.signal, op.rank, op.signal_offset, 8, m.word)))
    return {errc::invalid, worded("no aligned word of rank ", op.rank, " for a signal")};
  return {};
}

bool rank_transport::refuse() noexcept {
  if (me().in_flight < f_.par.queue_depth && !f_.rng.chance(f_.par.refuse)) return false;
  ++f_.stats.refused;
  return refused_ = true;
}

std::size_t rank_transport::submit(std::span<const rma_op> ops) noexcept {
  glances_ = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const bool held = f_.par.broken == mutant::packets_hold_operations && two_sided_.is_full(ops[i].rank);
    if (refuse() || held) {
      if (f_.par.broken == mutant::refused_leaves_trace) {
        rma_op trace = ops[i];
        trace.done = nullptr;
        take(trace);
      }
      return i;
    }
    take(ops[i]);
  }
  return ops.size();
}

// The processor's time for the completions that are there.
ns rank_transport::reap() noexcept {
  if (!f_.beside.reap) return 0;
  const auto there = std::erase_if(extra_->unreaped, [now = me().clock](ns at) { return at <= now; });
  return static_cast<ns>(there) * f_.beside.reap;
}

// A message's place is used again, with another serial.
bool rank_transport::is_over(const flight& f) const noexcept {
  const message& m = f_.messages[f.index];
  return m.serial != f.serial || m.settled;
}

// What is over delays nothing that follows it: it was visible by then. So a few may stay, and the messages be left alone.
void rank_transport::forget_flights() noexcept {
  constexpr std::size_t few = 16;
  const std::size_t in_flight = me().in_flight;
  if (in_flight == 0) flights_.clear();
  else if (flights_.size() >= few && flights_.size() >= 2 * in_flight) std::erase_if(flights_, [this](const flight& f) { return is_over(f); });
}

void rank_transport::take(const rma_op& op) noexcept {
  rank_state& rs = me();
  const std::uint32_t index = f_.new_message();
  message& m = f_.messages[index];
  m.op = op;
  m.origin = rank_;
  m.serial = f_.draw(4);
  if (op.done) op.done->begin();
  const std::uint64_t bytes = payload_of(op);
  ++f_.stats.messages;
  f_.stats.bytes += bytes;
  f_.active();
  m.settled = false;
  forget_flights();
  ++rs.in_flight;
  flights_.push_back({op.rank, index, {}, ~std::uint64_t{0}, rs.clock, m.serial});
  m.error = check(m, bytes);
  if (m.error.ok()) {
    if (f_.par.connect_us > 0 && extra_->connected.insert(op.rank).second) f_.spend(rs, to_ns(f_.par.connect_us));
    f_.spend(rs, f_.wire_between(rank_, op.rank).overhead + (f_.same_node(rank_, op.rank) ? 0 : reap()));
    m.error = health(op.rank);
  }
  idle_since_ = rs.clock;
  if (m.error.failed()) {
    m.events = 1;
    f_.push(rs.clock, m.serial + 3, event_kind::fail, rank_, index);
    return;
  }
  m.payload.resize(bytes, op.kind == op_kind::get_scatter || !stands_still(bytes));
  if (posted(op.kind) && is_inline(op)) read(reinterpret_cast<const std::byte*>(op.local_offset), m.payload.data(), bytes);
  if (f_.par.shared_adapters && !f_.same_node(rank_, op.rank)) {  // others of the node may come before it, though they run later
    m.events = 1;
    f_.push(rs.clock, m.serial, event_kind::leave, rank_, index);
    extra_->leaves.push_back({index, rs.clock});
  } else {
    depart(index, rs.clock);
  }
}

void rank_transport::depart_next() noexcept {
  const leaving next = extra_->leaves.front();
  extra_->leaves.erase(extra_->leaves.begin());
  depart(next.index, next.at);
}

bool rank_transport::is_inline(const rma_op& op) const noexcept {
  const std::uint64_t bytes = payload_of(op);
  return bytes && op.local == unregistered_memory && bytes <= f_.caps.max_inline;
}

void rank_transport::depart(std::uint32_t index, ns at) noexcept {
  message& m = f_.messages[index];
  const rma_op& op = m.op;
  const mutant broken = f_.par.broken;
  const bool node = f_.same_node(rank_, op.rank);
  const link& w = f_.wire_between(rank_, op.rank);
  const std::uint64_t out = posted(op.kind) ? m.payload.size() : 0;

  // Of the newest flights it is one of the last; with shared adapters later ones may have been taken since.
  const auto found = std::find_if(flights_.rbegin(), flights_.rend(), [&](const flight& f) { return f.serial == m.serial; });
  flight& way = *found;
  ns& adapter = f_.tx(rank_, node);
  m.injected = std::max(node ? at : f_.after_task(rank_, at, f_.beside.fetch + f_.beside.transmit), adapter);
  const ns sent = node ? m.injected + w.wire(out) : f_.across_bus(rank_, m.injected, m.injected + w.wire(out), out);
  m.spread = sent - m.injected - w.wire(out);
  if (f_.beside.reap && !node) extra_->unreaped.push_back(sent + 2 * w.latency);
  adapter = sent + w.gap;
  ns arrives = sent + w.latency + f_.extra(w.latency);

  if (signals(op.kind)) {
    ns floor = 0;
    for (const flight& f : flights_) {
      if (f.target != op.rank || f.serial >= m.serial) continue;
      const bool all = op.order == not_before::everything && broken != mutant::signal_overtakes_earlier;
      const bool word = f.word == op.signal_offset && f.region == m.word && broken != mutant::signals_swap;
      if (all || word) floor = std::max(floor, f.visible);
    }
    if (op.kind == op_kind::signal) arrives = m.signal_at = std::max(arrives, floor);
    else m.signal_at = std::max(arrives + f_.extra(w.latency), floor);
    // On the links it travels as one, so that it keeps behind what entered them before.
    if (!f_.wires.flat() && !node) arrives = std::max(arrives, m.signal_at);
    m.halved = m.signal_at > arrives && broken != mutant::signal_overtakes_payload;
    way.region = m.word, way.word = op.signal_offset;
  }
  way.visible = std::max(arrives, m.signal_at);

  ++m.events;
  f_.carry(arrives - w.wire(out) - m.spread - w.latency, rank_, op.rank, out, w.latency, {0, m.serial + 1, index, op.rank, event_kind::arrive});
  if (m.halved) {
    ++m.events;
    f_.push(m.signal_at, m.serial + 2, event_kind::signal, op.rank, index);
  }
  if (!posted(op.kind)) {
    if (broken == mutant::done_before_landing) f_.finish(m, {}, at);
    return;
  }

  ns local = sent;  // when the source may be reused
  if (f_.hostile()) local += static_cast<ns>(f_.rng.unit() * static_cast<double>(way.visible + w.latency - sent));
  ns read = std::min(local, arrives);
  if (broken == mutant::done_before_read) local = at, read = arrives;
  if (out && !is_inline(op)) {
    ++m.events;
    f_.push(read, m.serial, event_kind::read, rank_, index);
  }
  if (op.done) {
    ++m.events;
    f_.push(local, m.serial + 3, event_kind::local, rank_, index);
  }
}

bool rank_transport::flush(rank_t peer, completion* done) noexcept {
  glances_ = 0;
  if (refuse()) return false;
  if (done) done->begin();
  status error;
  std::erase_if(errors_, [&](auto& e) {
    if (peer != no_rank && e.first != peer) return false;
    if (error.ok()) error = e.second;
    return true;
  });
  std::uint32_t remaining = 0;
  for (const flight& f : flights_) remaining += (peer == no_rank || f.target == peer) && !is_over(f);
  if (error.ok() && peer != no_rank) error = health(peer);
  if (!remaining || f_.par.broken == mutant::flush_at_once) {
    if (done) ready_.push_back({done, error});
  } else {
    flushes_.push_back({peer, f_.next_seq, remaining, done, error});
    ++me().flushes;
  }
  return true;
}

}  // namespace tutti::sim
