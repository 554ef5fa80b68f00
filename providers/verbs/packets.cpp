#include "providers/verbs/packets.h"

#include <cstring>
#include <new>
#include <utility>

namespace tutti::verbs {

namespace {

constexpr std::uint64_t by_first_use = 256 + slab_buffers + shared_slots + slab_buffers;  // buffers, with what slabs round up
constexpr std::uint64_t tables = 128 << 10;

status breach(rank_t rank, const char* what) noexcept {
  return {errc::protocol, worded("rank ", rank, " ", what), rank};
}

}  // namespace

void correspondence_closer::operator()(correspondence* c) const noexcept { delete c; }

status packets::open(std::uint32_t ranks) {
  leases_ = static_cast<std::int32_t>(in_.leases());
  next_in_inbox_.resize(in_.depth());
  const std::uint64_t slots = round_up(std::uint64_t{shared_slots} + ranks, slab_buffers);
  return slots_.open(end_.pd(), end_.device(), static_cast<std::uint32_t>(slots));
}

two_sided::limits packets::limits() noexcept {
  return {.max_header = max_packet_header,
          .max_payload = max_packet_payload,
          .fixed_bytes = by_first_use * packet_bytes + tables,
          .peer_bytes = (packet_window + 1) * packet_bytes + sizeof(correspondence) + sizeof(peer) + 512};  // 512: its places in tables
}

correspondence* packets::with(peer& p) noexcept {
  if (p.talk) return p.talk.get();
  try {
    owing_.reserve(++all_);
    p.talk.reset(new correspondence);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  p.talk->with = &p;
  return p.talk.get();
}

// --- slots ---------------------------------------------------------------------------------------------------------------

status packets::get_slot(correspondence& c) noexcept {
  if (c.has_slot) return {};
  while (slots_.count() < shared_slots + own_slots_ + 1) {
    const std::uint32_t from = slots_.count();
    try {
      next_slot_.resize(from + slab_buffers);
    } catch (const std::bad_alloc&) {
      return {errc::no_resource, "out of memory", c.with->rank};
    }
    if (status s = slots_.grow(); s.failed()) return {s.code(), std::string{s.text()}, c.with->rank, s.native()};
    for (std::uint32_t slot = from; slot < slots_.count(); ++slot) next_slot_[slot] = std::exchange(free_slot_, slot);
  }
  ++own_slots_;
  c.has_slot = true;
  return {};
}

bool packets::take_slot(correspondence& c, std::uint32_t& slot) noexcept {
  if (c.slots && shared_used_ == shared_slots) return false;
  shared_used_ += c.slots != 0;
  slot = std::exchange(free_slot_, next_slot_[free_slot_]);
  if (c.slots) next_slot_[c.last] = slot;
  else c.first = slot;
  if (c.posted == c.slots) c.unposted = slot;
  c.last = slot;
  ++c.slots;
  return true;
}

void packets::release_slot(correspondence& c) noexcept {
  const std::uint32_t slot = std::exchange(c.first, next_slot_[c.first]);
  next_slot_[slot] = std::exchange(free_slot_, slot);
  --c.slots;
  shared_used_ -= c.slots != 0;
}

// --- sending -------------------------------------------------------------------------------------------------------------

bool packets::send(peer& p, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  correspondence* const c = with(p);
  status why = c ? get_slot(*c) : status{errc::no_resource, "out of memory", p.rank};
  if (why.failed()) {
    p.lacks = std::move(why);
    return false;
  }
  if (p.lacks.failed() && p.confirmed) p.lacks = {};
  std::uint32_t slot;
  if (ahead(c->taken, c->limit) > 0 || !take_slot(*c, slot)) return false;
  packet_head h;
  h.kind = packet_kind::message;
  h.header = static_cast<std::uint16_t>(header.size()), h.payload = static_cast<std::uint16_t>(payload.size());
  h.number = c->taken++;
  std::byte* const at = slots_.at(slot);
  std::memcpy(at, &h, sizeof h);
  if (!header.empty()) std::memcpy(at + sizeof h, header.data(), header.size());
  if (!payload.empty()) std::memcpy(at + sizeof h + round_up(header.size(), 8), payload.data(), payload.size());
  post(p);
  return true;
}

void packets::post(peer& p) noexcept {
  if (!try_post(p) && !std::exchange(p.talk->owes, true)) owing_.push_back(p.talk.get());
}

void packets::post_owed() noexcept {
  std::erase_if(owing_, [this](correspondence* c) { return c->owes = !try_post(*c->with), !c->owes; });
}

// Upon a connection that comes later, connected() goes on.
bool packets::try_post(peer& p) noexcept {
  correspondence& c = *p.talk;
  const auto can = [&] { return p.confirmed && !p.failing && p.alive(); };
  while (can() && c.posted < c.slots && ahead(c.taken - c.slots + c.posted, c.limit) < 0) {
    if (!out_.has_room(p, 1)) return false;
    post_message(p, c);
  }
  const bool asks = c.posted < c.slots && !c.kept && !c.asked;
  if (!can() || (!asks && !c.room_owed)) return true;
  if (!out_.has_room(p, 1)) return false;
  c.asked |= asks;
  post_room(p, c, asks ? packet_kind::ask : packet_kind::room);
  return true;
}

// Whoever is told has to be allowed.
void packets::tell_limit(packet_head& h, correspondence& c) noexcept {
  if (c.allowed != c.told) in_.allow(*c.origin, c.allowed);
  h.keeps = c.keeps, h.limit = c.told = c.allowed;
  c.room_owed = false;
}

void packets::post_message(peer& p, correspondence& c) noexcept {
  const std::uint32_t slot = std::exchange(c.unposted, next_slot_[c.unposted]);
  ++c.posted;
  packet_head h;
  std::memcpy(&h, slots_.at(slot), sizeof h);
  tell_limit(h, c);
  std::memcpy(slots_.at(slot), &h, sizeof h);
  ibv_sge sge = slots_.part(slot, length_of(h));
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND, wr.sg_list = &sge, wr.num_sge = 1;
  wr.send_flags = IBV_SEND_SOLICITED;
  if (sge.length <= end_.limits().inline_bytes) wr.send_flags |= IBV_SEND_INLINE;
  posted what;
  what.kind = work::packet;
  out_.post(p, {&wr, 1}, {&what, 1});
}

void packets::post_room(peer& p, correspondence& c, packet_kind kind) noexcept {
  packet_head h;
  h.kind = kind, h.number = c.taken - c.slots + c.posted;
  tell_limit(h, c);
  ibv_sge sge{reinterpret_cast<std::uint64_t>(&h), sizeof h, 0};
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND, wr.sg_list = &sge, wr.num_sge = 1;
  wr.send_flags = IBV_SEND_SOLICITED | IBV_SEND_INLINE;
  posted what;
  what.kind = work::room;
  out_.post(p, {&wr, 1}, {&what, 1});
}

// Requests end in the order in which they were posted, hence messages in that of their slots; and behind one that fails all do.
void packets::finished(peer& p, work kind, bool well) noexcept {
  correspondence& c = *p.talk;
  if (kind == work::room) {
    if (!well) c.asked = false, c.room_owed = c.allowed != 0;
    return;
  }
  --c.posted;
  if (well) release_slot(c);
}

// Whether this end has something to send or not: the other may, at any time, and its adapter would try in vain until it gave this
// rank up.
bool packets::wants_connection(const peer& p) const noexcept { return p.talk && p.alive(); }

void packets::connected(peer& p) noexcept {
  if (p.talk) post(p);
}

void packets::dropped(peer& p) noexcept {
  if (!p.talk) return;
  p.talk->unposted = p.talk->first;
  if (!p.alive()) give_up(*p.talk);
}

// Where a queue pair stands, dropped() follows.
void packets::ended(peer& p) noexcept {
  if (p.talk && !p.out.is_open()) give_up(*p.talk);
}

void packets::give_up(correspondence& c) noexcept {
  while (c.slots) release_slot(c);
  if (!std::exchange(c.leased, false)) return;
  ++leases_;
  lease();
}

// --- what a peer says ----------------------------------------------------------------------------------------------------

status packets::heard(peer& p, const packet_news& n) noexcept {
  if (!p.alive()) return {};
  if (n.breach) return breach(p.rank, n.breach);
  correspondence* const c = with(p);
  if (!c) return {errc::no_resource, "out of memory", p.rank};
  if (ahead(n.limit, c->limit) < 0 || ahead(n.limit, c->taken + packet_window) > 0)
    return breach(p.rank, "has room for other two-sided messages than it can have");
  if (n.limit != c->limit) c->asked = false;
  c->limit = n.limit, c->kept = n.keeps;
  if (n.asks) answer(p, *c, n.number);
  post(p);
  return {};
}

void packets::answer(peer& p, correspondence& c, std::uint32_t number) noexcept {
  if (!c.origin) c.origin = in_.find(p.rank);
  if (!std::exchange(c.known, true)) {
    if (spare_ < packet_window && in_.grow()) spare_ += slab_buffers;
    c.keeps = spare_ >= packet_window;
    if (c.keeps) spare_ -= packet_window, c.allowed = packet_window;
  }
  if (c.keeps || c.leased) {
    c.room_owed = true;
  } else if (!std::exchange(c.asking, true)) {
    c.asked_for = number;
    c.next_asking = nullptr;
    (first_asking_ ? last_asking_->next_asking : first_asking_) = &c;
    last_asking_ = &c;
    lease();
  }
}

void packets::lease() noexcept {
  while (leases_ > 0 && first_asking_) {
    correspondence& c = *std::exchange(first_asking_, first_asking_->next_asking);
    c.asking = false;
    if (!c.with->alive()) continue;
    --leases_;
    c.leased = c.room_owed = true;
    c.allowed = c.asked_for + 1;
    post(*c.with);
  }
}

void packets::arrived(peer& p, std::uint32_t place) noexcept {
  correspondence& c = *p.talk;
  if (!c.keeps && !std::exchange(c.leased, false)) --leases_;
  (c.inbox ? next_in_inbox_[c.inbox_last] : c.inbox_first) = place;
  c.inbox_last = place;
  ++c.inbox;
  if (!std::exchange(c.in_line, true)) line_.push(c);
}

// --- receiving -----------------------------------------------------------------------------------------------------------

void packets::release_held() noexcept {
  correspondence* const c = std::exchange(held_by_, nullptr);
  if (!c) return;
  in_.give_back(held_);
  ++c->received;
  if (c->inbox) line_.push(*c);
  else c->in_line = false;
  if (!c->keeps) {
    ++leases_;
    return lease();
  }
  c->allowed = c->received + packet_window;
  if (ahead(c->allowed, c->told) < static_cast<std::int32_t>(packet_window / 2)) return;
  c->room_owed = true;
  post(*c->with);
}

bool packets::receive(two_sided::message& out) noexcept {
  release_held();
  held_by_ = line_.pop();
  if (!held_by_) return false;
  held_ = std::exchange(held_by_->inbox_first, next_in_inbox_[held_by_->inbox_first]);
  --held_by_->inbox;
  const std::byte* at = in_.at(held_);
  packet_head h;
  std::memcpy(&h, at, sizeof h);
  at += sizeof h;
  out = {held_by_->with->rank, {at, h.header}, {at + round_up(h.header, 8), h.payload}};
  return true;
}

}  // namespace tutti::verbs
