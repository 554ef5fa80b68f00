// The target's part: whose a message is and whether it is whole, messages applied as they come, answers on their way back.
#include <algorithm>
#include <new>
#include <utility>

#include "providers/messages/authentication.h"
#include "providers/messages/transport.h"

namespace tutti::messages {

// Nothing is touched for a message that has no proof: no peer is made, no number counted, nothing answered. So whoever is no
// rank of this job can send what he likes, and each of his messages costs this rank one check.
bool message_transport::authentic(const message& m, std::span<const std::byte> payload) const noexcept {
  if (m.origin >= size_ || m.origin == rank_) return false;
  if (!traits_.forgeable) payload = {};
  const peer* p = peers_[m.origin].get();
  return m.check == check_of(m, payload, p ? p->hears_by : key_between(key_, m.origin, rank_));
}

// Once: whoever sends the first may send a million.
void message_transport::tell_of_outsiders(rank_t said) noexcept try {
  const notice_fn notice = std::exchange(notice_, {});
  notice(std::string{traits_.name} + ": rank " + std::to_string(rank_) + " drops messages without proof that they are of this job; the first " +
         (said < size_ ? "said that it was from rank " + std::to_string(said) : "named no rank of it") +
         ". Others reach its port: see docs/security.md");
} catch (...) {  // no memory for the words
}

void message_transport::receive(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {
  const auto m = head_of<message>(header);
  if (!m || header.size() != sizeof(message) || !authentic(*m, payload)) {
    ++rejected_;
    if (notice_) tell_of_outsiders(m ? m->origin : no_rank);
    return;
  }
  peer* const p = peer_of(m->origin);
  if (!p || !p->alive()) return;
  using arrival = message_order::arrival;
  const arrival came = p->order.admit(*m, payload, traits_.reorders);
  if (came == arrival::repeated) {
    ++rejected_;
    return;
  }
  ++events_;
  p->heard = true;
  if (came == arrival::lost)
    return end_peer(*p, {errc::protocol, std::string{traits_.name} + " lost or reordered a message of rank " + std::to_string(p->rank),
                         p->rank});
  if (came == arrival::no_memory)
    return end_peer(*p, {errc::no_resource, "no memory for a message of rank " + std::to_string(p->rank) + " that came early", p->rank});
  if (came == arrival::held) return;
  take(*p, *m, payload);
  while (p->alive()) {
    const std::vector<std::byte> next = p->order.take_held();
    if (next.empty()) break;
    take(*p, *head_of<message>(next), std::span{next}.subspan(sizeof(message)));
  }
}

void message_transport::take(peer& p, const message& m, std::span<const std::byte> payload) noexcept {
  const inspection j = inspect(m, payload.size());
  if (j.what == finding::malformed) {
    const std::string what = "rank " + std::to_string(p.rank) + " sent a message of kind " + std::to_string(static_cast<unsigned>(m.kind));
    return end_peer(p, {errc::protocol, what + " whose " + j.field + " no such message has", p.rank});
  }
  const bool reachable = j.what == finding::sound;
  switch (m.kind) {
    case message_kind::hello:
      if (!p.asked) open_soon(p);  // and greet
      break;
    case message_kind::bell: break;
    case message_kind::bye:
      end_peer(p, rank_left(p.rank), told_by::itself);
      break;
    case message_kind::put:
      if (reachable) responder_.apply_put(m, payload);
      break;
    case message_kind::get:
    case message_kind::fetch_add:
    case message_kind::compare_swap:
    case message_kind::swap:
    case message_kind::mark: serve(p, m, reachable); break;
    case message_kind::data:
    case message_kind::old_value:
    case message_kind::passed: take_answer(p, m, payload); break;
  }
}

void message_transport::serve(peer& p, const message& m, bool reachable) noexcept {
  if (!p.answers.reserve(traits_.keeps, traits_.piece_bytes))
    return end_peer(p, {errc::no_resource, "out of memory", p.rank});  // so short that it needs none itself
  frame* const f = p.answers.take(p, m.kind);
  if (!f) return end_peer(p, {errc::protocol, "rank " + std::to_string(p.rank) + " asks for more than there is room to answer", p.rank});
  responder_.answer(*f, m, reachable);
  queue(*f);
}

void message_transport::take_answer(peer& p, const message& m, std::span<const std::byte> payload) noexcept {
  const auto index = static_cast<std::uint32_t>(m.cookie), life = static_cast<std::uint32_t>(m.cookie >> 32);
  frame& f = frames_.all()[index];  // which exists: rules.h
  if (f.to != &p || f.life != life || !f.request || f.answered) return;
  // Pieces of a get come in order, so that all but the next is no answer to it.
  const bool next = m.kind != message_kind::data || (m.offset == f.value && payload.size() <= f.op.bytes - f.value);
  if (!is_answer_to(m.kind, f.head.kind) || !next) {
    end_peer(p, {errc::protocol, "rank " + std::to_string(p.rank) + " answers what it was not asked", p.rank});
    return;
  }

  status outcome;
  if (m.flags & memory_gone) {
    outcome = {errc::invalid, "the memory named on rank " + std::to_string(p.rank) + " is not, or no longer, registered, or is no "
               "word of 8 aligned bytes where the operation needs one", p.rank};
  } else if (m.kind == message_kind::data) {
    land(f.op, m.offset, payload);
    f.value += payload.size();
    if (f.value < f.op.bytes) return;
  } else if (m.kind == message_kind::old_value) {
    land(f.op, 0, std::as_bytes(std::span{&m.operand, 1}));
    p.applied = std::max(p.applied, f.traffic);
  } else {
    p.applied = std::max(p.applied, f.traffic);
  }
  if (f.sent) {
    finish(f, outcome);
    return;
  }
  // The link has not said yet that the request was sent; piece_sent() will end the frame.
  f.answered = true;
  if (completion* done = std::exchange(f.op.done, nullptr)) outcome.ok() ? done->finish() : done->finish(outcome);
}

// Into the origin's memory, which lives until the operation is done; dropped regions are skipped all the same.
void message_transport::land(const rma_op& op, std::uint64_t offset, std::span<const std::byte> payload) noexcept {
  if (op.kind != op_kind::get_scatter) {
    std::byte* to = regions_.local(op.local, op.local_offset);
    if (to && offset <= op.bytes && payload.size() <= op.bytes - offset) std::memcpy(to + offset, payload.data(), payload.size());
    return;
  }
  for (unsigned i = 0; i < op.slices && !payload.empty(); ++i) {
    const slice& s = op.scatter[i];
    if (offset >= s.bytes) {
      offset -= s.bytes;
      continue;
    }
    const std::size_t n = std::min<std::size_t>(payload.size(), s.bytes - offset);
    if (std::byte* to = regions_.local(s.local, s.local_offset)) std::memcpy(to + offset, payload.data(), n);
    payload = payload.subspan(n);
    offset = 0;
  }
}

}  // namespace tutti::messages
