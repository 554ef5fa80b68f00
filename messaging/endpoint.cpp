#include "messaging/endpoint.h"

#include <algorithm>
#include <new>
#include <string>

#include "core/base/round_up.h"

namespace tutti::messaging {
namespace {

constexpr unsigned most_a_turn = 64;  // messages that one progress takes, so that it comes to an end

// A message that the fabric refused: this, then header and payload.
struct kept_message : outgoing {
  std::uint32_t header = 0, payload = 0;

  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  std::size_t bytes() const noexcept { return sizeof *this + header + payload; }
  static bool offer_it(outgoing& o, endpoint& e, peer& p) noexcept {
    auto& m = static_cast<kept_message&>(o);
    return e.send_in_turn(p, {m.data(), m.header}, {m.data() + m.header, m.payload});
  }
  static void end(outgoing& o, endpoint& e, peer&, const status&) noexcept {
    auto& m = static_cast<kept_message&>(o);
    e.buffers().give(reinterpret_cast<std::byte*>(&m), m.bytes());
  }
};

}  // namespace

endpoint::endpoint(job& j, two_sided& calls) noexcept : job_(j), calls_(calls), limits_(calls.query()) {}

result<std::unique_ptr<endpoint>> endpoint::open(job& j) {
  two_sided* const calls = j.net().sendrecv();
  if (!calls) return status(errc::unsupported, "the fabric of this job has no two-sided messages");
  try {
    std::unique_ptr<endpoint> e(new endpoint(j, *calls));
    j.enlist(*e);
    return e;
  } catch (const std::bad_alloc&) {
    return status(errc::no_resource, "out of memory for messages");
  }
}

void endpoint::close() noexcept {
  job_.dismiss(*this);
  for (auto& p : peers_)
    while (outgoing* const o = p->first) {
      p->first = o->next;
      if (o->offer == kept_message::offer_it) kept_message::end(*o, *this, *p, {});
    }
}

peer* endpoint::find_slowly(rank_t rank) noexcept {
  if (const rank_t at = places_.get(rank, no_rank); at != no_rank) return last_ = peers_[at].get();
  try {
    auto made = std::make_unique<peer>();
    made->rank = rank;
    places_.reserve_one();
    peers_.push_back(std::move(made));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  places_.set(rank, static_cast<rank_t>(peers_.size() - 1));
  return last_ = peers_.back().get();
}

bool endpoint::send(peer& p, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  if (p.broken || send_now(p, header, payload)) return true;
  const std::size_t bytes = sizeof(kept_message) + header.size() + payload.size();
  std::byte* const memory = buffers_.take(bytes);
  if (!memory) return false;
  auto* const m = new (memory) kept_message;
  m->offer = kept_message::offer_it, m->over = kept_message::end;
  m->header = static_cast<std::uint32_t>(header.size()), m->payload = static_cast<std::uint32_t>(payload.size());
  std::ranges::copy(header, m->data());
  std::ranges::copy(payload, m->data() + header.size());
  enqueue(p, *m);
  return true;
}

void endpoint::enqueue(peer& p, outgoing& item) noexcept {
  if (p.broken) return item.over(item, *this, p, p.lost);
  item.next = nullptr;
  if (p.first) p.last->next = &item;
  else p.first = &item;
  p.last = &item;
  if (p.waiting) return;
  p.waiting = true;
  p.next_waiting = waiting_;
  waiting_ = &p;
}

bool endpoint::withdraw(peer& p, outgoing& item) noexcept {
  outgoing* before = nullptr;
  for (outgoing* o = p.first; o; before = o, o = o->next) {
    if (o != &item) continue;
    (before ? before->next : p.first) = o->next;
    if (p.last == o) p.last = before;
    return true;
  }
  return false;
}

// An item stands first while it is offered, so what its offer() leads to queues up behind it. It is out of the queue before over().
void endpoint::push(peer& p) noexcept {
  while (outgoing* const o = p.first) {
    if (!o->offer(*o, *this, p)) return;
    p.first = o->next;
    if (!p.first) p.last = nullptr;
    o->over(*o, *this, p, {});
  }
}

bool endpoint::poll_one() noexcept {
  if (polling_) [[unlikely]] return false;
  if (!kept_ && !calls_.receive(message_)) return false;
  polling_ = true;
  peer* const from = find(message_.from);
  kept_ = !from;
  job_.came();
  if (from && !from->broken) [[likely]] {
    wire_prefix prefix;
    const bool has_kind = read_from(message_.header, 0, prefix);
    const unsigned number = has_kind ? prefix.kind / kinds_of_an_engine : engines;
    if (number >= engines) [[unlikely]] malformed(*from, "a message of an unknown kind");
    else if (!engines_[number]) [[unlikely]] malformed(*from, "a message of a kind that this rank does not take");
    else kept_ = !engines_[number]->take(*from, prefix, message_.header, message_.payload);
  }
  polling_ = false;
  return !kept_;
}

void endpoint::take_all(unsigned most) noexcept {
  while (most-- > 0 && poll_one()) {}
}

void endpoint::advance() noexcept {
  if (advancing_) return;
  advancing_ = true;
  take_all(most_a_turn);
  for (peer** link = &waiting_; *link;) {
    peer& p = **link;
    push(p);
    if (p.first) {
      link = &p.next_waiting;
      continue;
    }
    // Peers that came to the list meanwhile stand before this one, so the link may be another's by now.
    while (*link != &p) link = &(*link)->next_waiting;
    *link = p.next_waiting;
    p.waiting = false;
  }
  for (message_engine* e : engines_)
    if (e) e->advance();
  advancing_ = false;
}

void endpoint::look() noexcept {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peer& p = *peers_[i];
    // Credit that was not returned is of messages that are complete here and may never come to be received: whoever goes on sending is told.
    if (p.broken || (p.interest == 0 && !p.first && p.tagged.credit == credits::all)) continue;
    if (status s = job_.net().health(p.rank); s.failed()) lose(p, s);
  }
  for (message_engine* e : engines_)
    if (e) e->look();
}

void endpoint::polled() noexcept {
  if (++polls_ % 256 != 0) return;
  const time_point t = job_.net().now();
  if (t < next_look_) return;
  next_look_ = t + job::look_every;
  look();
}

// What had arrived of it before is taken first; what memory is short for is lost with it.
void endpoint::lose(peer& p, const status& why) noexcept {
  if (p.broken) return;
  job_.net().progress();
  take_all(~0u);
  if (p.broken) return;
  p.lost = why, p.broken = true;
  if (kept_ && message_.from == p.rank) kept_ = false;
  while (outgoing* const o = p.first) {
    p.first = o->next;
    if (!p.first) p.last = nullptr;
    o->over(*o, *this, p, p.lost);
  }
  for (message_engine* e : engines_)
    if (e) e->lost(p);
}

void endpoint::malformed(peer& p, const char* what) noexcept {
  lose(p, {errc::protocol, worded("rank ", p.rank, " sent ", what, ", which tutti never sends: a fault of tutti's, or of the fabric; please report it"), p.rank});
}

}  // namespace tutti::messaging
