#include "providers/messages/inbound.h"

#include <algorithm>
#include <utility>

#include "providers/messages/authentication.h"

namespace tutti::messages {

// Nothing is touched for a message that has no proof: no peer is made, no number counted, nothing answered. So whoever is no
// rank of this job can send what he likes, and each of his messages costs this rank one check.
bool inbound::authentic(const message& m, std::span<const std::byte> payload) const noexcept {
  if (m.origin >= size_ || m.origin == self_) return false;
  if (!traits_.forgeable) payload = {};
  const peer* p = peers_.known(m.origin);
  return m.check == check_of(m, payload, p ? p->hears_by : key_between(key_, m.origin, self_));
}

// Once: whoever sends the first may send a million.
void inbound::tell_of_outsiders(rank_t said) noexcept try {
  const notice_fn notice = std::exchange(notice_, {});
  notice(std::string{traits_.name} + ": rank " + std::to_string(self_) + " drops messages without proof that they are of this job; the first " +
         (said < size_ ? "said that it was from rank " + std::to_string(said) : "named no rank of it") +
         ". Others reach its port: see docs/security.md");
} catch (...) {  // no memory for the words
}

bool inbound::receive(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  const auto m = head_of<message>(header);
  if (!m || header.size() != sizeof(message) || !authentic(*m, payload)) {
    ++rejected_;
    if (notice_) tell_of_outsiders(m ? m->origin : no_rank);
    return false;
  }
  peer* const p = peers_.of(m->origin);
  if (!p || !p->alive()) return false;
  using arrival = message_order::arrival;
  const arrival came = p->order.admit(*m, payload, traits_.reorders);
  if (came == arrival::repeated) return ++rejected_, false;
  p->heard = true;
  if (came == arrival::lost)
    peers_.end(*p, {errc::protocol, worded(traits_.name, " lost or reordered a message of rank ", p->rank),
                    p->rank});
  if (came == arrival::no_memory)
    peers_.end(*p, {errc::no_resource, worded("no memory for a message of rank ", p->rank, " that came early"), p->rank});
  if (came != arrival::next) return true;
  take(*p, *m, payload);
  while (p->alive()) {
    const std::vector<std::byte> next = p->order.take_held();
    if (next.empty()) break;
    take(*p, *head_of<message>(next), std::span{next}.subspan(sizeof(message)));
  }
  return true;
}

void inbound::take(peer& p, const message& m, std::span<const std::byte> payload) noexcept {
  const inspection j = inspect(m, payload.size());
  if (j.what == finding::malformed) {
    return peers_.end(p, {errc::protocol, worded("rank ", p.rank, " sent a message of kind ", static_cast<unsigned>(m.kind),
                                                 " whose ", j.field,
                                                 " no such message has"), p.rank});
  }
  const bool reachable = j.what == finding::sound;
  switch (m.kind) {
    case message_kind::hello:
      if (!p.asked) due_.open(p);  // and greet
      break;
    case message_kind::bell: break;
    case message_kind::bye:
      peers_.end(p, rank_left(p.rank), told_by::itself);
      break;
    case message_kind::put:
      if (reachable) answers_.apply_put(m, payload);
      break;
    case message_kind::get:
    case message_kind::fetch_add:
    case message_kind::compare_swap:
    case message_kind::swap:
    case message_kind::mark: serve(p, m, reachable); break;
    case message_kind::packet: packets_.arrive(p, m, payload); break;
    case message_kind::room: packets_.room(p, m.operand); break;
    case message_kind::data:
    case message_kind::old_value:
    case message_kind::passed: take_answer(p, m, payload); break;
  }
}

void inbound::serve(peer& p, const message& m, bool reachable) noexcept {
  if (!p.answers.reserve(traits_.keeps, traits_.piece_bytes))
    return peers_.end(p, {errc::no_resource, "out of memory", p.rank});  // so short that it needs none itself
  frame* const f = p.answers.take(p, m.kind);
  if (!f) return peers_.end(p, {errc::protocol, worded("rank ", p.rank, " asks for more than there is room to answer"), p.rank});
  answers_.answer(*f, m, reachable);
  out_.queue(*f);
}

void inbound::take_answer(peer& p, const message& m, std::span<const std::byte> payload) noexcept {
  const auto index = static_cast<std::uint32_t>(m.cookie), life = static_cast<std::uint32_t>(m.cookie >> 32);
  frame& f = frames_.all()[index];  // which exists: rules.h
  if (f.to != &p || f.life != life || !f.request || f.answered) return;
  // Pieces of a get come in order, so that all but the next is no answer to it.
  const bool next = m.kind != message_kind::data || (m.offset == f.value && payload.size() <= f.op.bytes - f.value);
  if (!is_answer_to(m.kind, f.head.kind) || !next) {
    peers_.end(p, {errc::protocol, worded("rank ", p.rank, " answers what it was not asked"), p.rank});
    return;
  }

  status outcome;
  if (m.flags & memory_gone) {
    outcome = {errc::invalid, worded("the memory named on rank ", p.rank, " is not, or no longer, registered, or is no "
               "word of 8 aligned bytes where the operation needs one"), p.rank};
  } else if (m.kind == message_kind::data) {
    regions_.land(f.op, m.offset, payload);
    f.value += payload.size();
    if (f.value < f.op.bytes) return;
  } else if (m.kind == message_kind::old_value) {
    regions_.land(f.op, 0, std::as_bytes(std::span{&m.operand, 1}));
    p.applied = std::max(p.applied, f.traffic);
  } else {
    p.applied = std::max(p.applied, f.traffic);
  }
  if (f.sent) return frames_.finish(f, outcome);
  // The link has not said yet that the request was sent; piece_sent() will end the frame.
  f.answered = true;
  if (completion* done = std::exchange(f.op.done, nullptr)) done->finish(outcome);
}

}  // namespace tutti::messages
