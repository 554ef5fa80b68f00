// Two-sided messages.
//
// Order. A packet is given a time of arrival no earlier than that of the one before it to the same target; the target's adapter
// takes in one after the other as they come, ties going to the one that was sent first, and only then do they become visible.
//
// Back-pressure. An origin may have so many packets under way to a target; one is no longer when its target has received it, gone
// on to the next, and the news is back.
#include <algorithm>

#include "core/transport/two_sided.h"
#include "providers/sim/net.h"

namespace tutti::sim {

namespace {
constexpr std::uint32_t most_header = 64;
constexpr std::uint32_t around_one = 272;  // what a packet takes beside its bytes: its record, events, the allocator's own
}

std::uint32_t fabric::new_packet(rank_t from, std::span<const std::byte> header, std::span<const std::byte> payload) {
  packet made{from, 0, 0, false, {header.begin(), header.end()}, {payload.begin(), payload.end()}};
  if (free_packets.empty()) {
    packets.push_back(std::move(made));
    return static_cast<std::uint32_t>(packets.size() - 1);
  }
  const std::uint32_t index = free_packets.back();
  free_packets.pop_back();
  packets[index] = std::move(made);
  return index;
}

void fabric::deliver_packet(const event& e) {
  const auto index = static_cast<std::uint32_t>(e.arg);
  packet& p = packets[index];
  rank_state& to = ranks[e.who];
  const rank_state& from = ranks[p.from];
  if (from.dead && p.injected > from.died_at) return release_packet(index);  // it never left
  if (!p.taken_in) {
    p.taken_in = true;
    const link& w = wire_between(p.from, e.who);
    const bool node = same_node(p.from, e.who);
    const std::uint64_t bytes = p.header.size() + p.payload.size();
    ns& busy = rx(e.who, node);
    const ns first = std::max(e.at, busy);
    ns when = std::max(first, e.at + p.spread) + w.wire(bytes);
    if (!node) when = across_bus(e.who, first, when, bytes);
    busy = when + w.gap;
    if (!node) when = after_task(e.who, when, beside.take + beside.deliver);
    return push(when, draw(), event_kind::packet, e.who, index);  // always: so ties go by the order of arrival
  }
  if (reachable(e.who, e.at).failed()) return release_packet(index);
  to.transport->two_sided_.take_in(index);
  active();
  wake(e.who, e.at);
}

void fabric::give_credit(const event& e) {
  if (!ranks[e.who].transport) return;
  ranks[e.who].transport->two_sided_.credited(static_cast<rank_t>(e.arg));
  if (par.broken != mutant::room_wakes_nobody) wake(e.who, e.at);
}

rank_two_sided::~rank_two_sided() {
  if (held_ != ~0u) owner_.f_.release_packet(held_);
  for (; first_ < arrived_.size(); ++first_) owner_.f_.release_packet(arrived_[first_]);
}

two_sided::limits rank_two_sided::query() const noexcept {
  const std::uint32_t most_payload = owner_.f_.par.packet_payload;
  return {most_header, most_payload, 4096, std::uint64_t{owner_.f_.par.packet_window} * (most_header + most_payload + around_one) + around_one};
}

bool rank_two_sided::is_full(rank_t target) const noexcept {
  const auto way = flows_.find(target);
  return way != flows_.end() && way->second.under_way >= owner_.f_.par.packet_window;
}

bool rank_two_sided::send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  fabric& f = owner_.f_;
  rank_state& rs = owner_.me();
  if (owner_.health(to).failed()) return f.par.broken != mutant::packets_wait_for_the_dead;
  owner_.glances_ = 0;
  flow& way = flows_[to];
  const bool full = is_full(to) && f.par.broken != mutant::packets_unbounded;
  const bool refuses = full || f.rng.chance(f.par.refuse);
  if (refuses) {
    ++f.stats.refused;
    if (!full) refused_ = owner_.refused_ = true;  // for no reason, so that nothing arrives when it is over
    if (f.par.broken != mutant::packet_refused_sent || full) return false;
  }
  const bool node = f.same_node(owner_.rank_, to);
  const link& w = f.wire_between(owner_.rank_, to);
  const std::uint64_t bytes = header.size() + payload.size();
  f.spend(rs, w.overhead + (node ? 0 : f.beside.send + f.copying(payload.size())));
  owner_.idle_since_ = rs.clock;
  const std::uint32_t index = f.new_packet(owner_.rank_, header, payload);
  ns& adapter = f.tx(owner_.rank_, node);
  const ns injected = f.packets[index].injected =
      std::max(node ? rs.clock : f.after_task(owner_.rank_, rs.clock, f.beside.fetch + f.beside.transmit), adapter);
  const ns wire = injected + w.wire(bytes), sent = node ? wire : f.across_bus(owner_.rank_, injected, wire, bytes);
  adapter = sent + w.gap;
  f.packets[index].spread = sent - wire;
  way.arrives = std::max(way.arrives, injected + w.latency + f.extra(w.latency));
  ++way.under_way;
  ++f.stats.packets, f.stats.packet_bytes += bytes;
  f.active();
  f.carry(way.arrives - w.latency, owner_.rank_, to, header.size() + payload.size(), w.latency, {0, f.draw(), index, to, event_kind::packet});
  return !refuses;
}

void rank_two_sided::take_in(std::uint32_t index) {
  fabric& f = owner_.f_;
  const auto broken = [&](mutant m) { return f.par.broken == m && f.rng.chance(0.1); };
  if (broken(mutant::packet_lost)) return f.release_packet(index);
  if (broken(mutant::packet_twice)) {
    const packet& p = f.packets[index];
    arrived_.push_back(f.new_packet(p.from, p.header, p.payload));
  }
  if (held_ != ~0u && f.par.broken == mutant::packet_reused)
    for (std::byte& b : f.packets[held_].header) b = std::byte{0xEE};
  arrived_.push_back(index);
  owner_.packets_came_ = true;
  const std::size_t n = arrived_.size();
  if (n >= first_ + visible_ + 2 && broken(mutant::packets_swap)) std::swap(arrived_[n - 1], arrived_[n - 2]);
}

void rank_two_sided::release_held() noexcept {
  fabric& f = owner_.f_;
  const std::uint32_t index = std::exchange(held_, ~0u);
  if (index == ~0u) return;
  const rank_t from = f.packets[index].from;
  const ns latency = f.wire_between(owner_.rank_, from).latency;
  f.push(owner_.me().clock + f.way(owner_.rank_, from) + f.extra(latency), f.draw(), event_kind::credit, from, owner_.rank_);
  f.release_packet(index);
}

bool rank_two_sided::receive(message& out) noexcept {
  release_held();
  if (visible_ == 0) return false;
  owner_.glances_ = 0;
  --visible_;
  held_ = arrived_[first_++];
  if (2 * first_ >= arrived_.size()) {
    arrived_.erase(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  const packet& p = owner_.f_.packets[held_];
  (void)owner_.reap();
  fabric& f = owner_.f_;
  f.spend(owner_.me(), f.wire_between(owner_.rank_, p.from).overhead +
                           (f.same_node(owner_.rank_, p.from) ? 0 : f.beside.receive + f.copying(p.payload.size())));
  out = {p.from, p.header, p.payload};
  return true;
}

}  // namespace tutti::sim
