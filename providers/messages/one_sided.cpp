// Operations by key: the fabric reaches into the peer's memory by itself (one_sided.h), the peer only looks at it.
//
// Order, where the fabric needs nobody at the target. A fence orders what was handed to the fabric. It does not order what
// the link's library still keeps, which may be handed over after it. So a signal by key is set behind a fence, once no write
// taken before it is under way, those left out that the link orders all the same (in_order()); until then it waits in the
// peer's queue, and later signals behind it. Small writes are handed over at once, and the signal follows at once. That covers its own payload, `everything`, and
// earlier signals to its word, as long as all of that went by key. Where messages are unaccounted for (peer::unapplied())
// a signal follows them as a message; and a message that signals waits until what was written by key lies in the peer's
// memory, which a flush tells. Both ways the later one starts when the earlier one is in effect.
//
// Where it does need somebody, no word goes by key, and the link sends no message before what was put earlier
// (one_sided::alone()). So a signal by message is applied behind its payload and `everything`, and an answered mark tells that
// all has been put. Gets are ordered with nothing.
//
// A word is 8 aligned bytes, which adapters store whole; what an origin sets by key and what a processor adds are never
// meant for one word at one time (clause 7 makes added signals atomic to added ones, not to set ones).
//
// Sleep. Nothing wakes a rank when a word is set in its memory. So the origin, behind the signal, reads the peer's doze
// word (glance()) and sends a bell if that is odd. The peer makes it odd before it looks at its words for the last time:
// if that look came before the signal, then the doze word was odd before the signal, and the glance finds it odd. One
// glance is under way at a time; a signal meanwhile causes another one. A reliable connection never lets a read overtake
// an earlier write, so there is no fence between the two; and if one did, the peer would look by itself when its
// longest sleep is over. (A fenced read was tried: soft-RoCE in Linux 6.1 can forget a read that waits at its fence until
// something else is sent, and a flush meanwhile waits for that read.)
#include "providers/messages/transport.h"

namespace tutti::messages {

// What came of the frame's one operation.
void message_transport::begun(frame& f, reaching r, const status& why) noexcept {
  switch (r) {
    case reaching::done: return finish(f, {});
    case reaching::refused: return finish(f, why);
    case reaching::lost: return;  // end_peer() ends it
    case reaching::under_way: f.parts = 1, ++f.to->under_way;
  }
}

reaching message_transport::write(frame& f, void* key, std::uint64_t offset, const std::byte* from, std::uint32_t bytes,
                                  status& why) noexcept {
  peer& p = *f.to;
  // One that is lost counts as well: a flush must not succeed before it is known what became of it. Where messages follow what
  // is put, a mark does for both.
  if (alone_) f.number = ++p.writes;
  else ++p.traffic;
  if (!p.line || p.life.suspected()) return reaching::lost;
  const reaching r = reach_->put(f, key, offset, from, bytes, why);
  if (r != reaching::under_way || !alone_ || reach_->in_order(bytes)) return r;
  f.before = p.newest, f.next = nullptr;
  (p.newest ? p.newest->next : p.oldest) = &f;
  p.newest = &f;
  return r;
}

void message_transport::unlink(frame& f) noexcept {
  peer& p = *f.to;
  (f.before ? f.before->next : p.oldest) = f.next;
  (f.next ? f.next->before : p.newest) = f.before;
  f.next = f.before = nullptr;
}

bool message_transport::take_put_by_key(const rma_op& op, peer& p, const member* to, const member* word,
                                        const std::byte* source) noexcept {
  const bool payload = by_key(to, op.bytes);
  const bool signal = by_key(word, 0) && op.how == signal_how::set && !p.unapplied() && (!to || payload);
  frame* data = payload ? new_frame(p, message_kind::put) : nullptr;
  frame* rest = word || !payload ? new_frame(p, message_kind::put) : nullptr;
  if ((payload && !data) || ((word || !payload) && !rest)) {
    if (data) finish(*data, {});
    return false;
  }
  // Each frame counts in the completion, for each may be the last to end: a signal that the fabric keeps in order need not
  // wait for its payload, and may be injected while the payload is still read from the caller's memory.
  if (data) {
    if (op.local == unregistered_memory && op.bytes <= max_inline) {
      std::memcpy(data->small, source, op.bytes);
      source = data->small;
    }
    data->op = op;
    counts_in(*data, op.done);
    status why;
    const reaching r = write(*data, to->key, op.remote_offset, source, op.bytes, why);
    begun(*data, r, why);
    if (!rest) return true;
    if (r == reaching::refused) {  // which the payload told
      finish(*rest, {});
      return true;
    }
    if (r == reaching::lost) {
      counts_in(*rest, op.done);
      return true;
    }
  }
  if (!signal) {
    rest->needs = p.held ? 0 : p.writes;
    say_put(*rest, op, payload ? nullptr : to, word, source, by_key(word, 0) && op.how == signal_how::set);
    return true;
  }
  counts_in(*rest, op.done);
  rest->what = frame_kind::word;
  rest->key = word->key;
  rest->op.signal_offset = op.signal_offset;
  rest->value = op.operand;
  rest->needs = p.writes;
  if (p.oldest || p.held) {
    ++p.held;
    queue(*rest);
  } else {
    set_word(*rest);
  }
  return true;
}

void message_transport::set_word(frame& f) noexcept {
  peer& p = *f.to;
  if (p.line) reach_->fence(p);
  status why;
  const reaching r = write(f, f.key, f.op.signal_offset, reinterpret_cast<const std::byte*>(&f.value), sizeof f.value, why);
  p.last_word = f.number;
  begun(f, r, why);
  if (r == reaching::done || r == reaching::under_way) glance(p);
}

bool message_transport::take_get_by_key(const rma_op& op, peer& p, const member& from) noexcept {
  const slice whole{op.local, op.bytes, op.local_offset};
  const slice* slices = op.kind == op_kind::get_scatter ? op.scatter : &whole;
  const unsigned count = op.kind == op_kind::get_scatter ? op.slices : 1;
  frame* f = new_frame(p, message_kind::get);
  if (!f) return false;
  f->op = op;
  counts_in(*f, op.done);
  if (!p.line || p.life.suspected()) return true;  // end_peer() ends it
  std::uint64_t offset = op.remote_offset;
  status why;
  reaching r = reaching::done;
  for (unsigned i = 0; i < count && r != reaching::refused && r != reaching::lost; ++i) {
    const slice& s = slices[i];
    if (s.bytes == 0) continue;
    std::byte* to = regions_.local(s.local, s.local_offset);
    if (to) {
      r = reach_->get(*f, from.key, offset, to, s.bytes, why);
    } else {
      why = {errc::invalid, "memory that a get is to fill was dropped", p.rank};
      r = reaching::refused;
    }
    if (r == reaching::under_way) ++f->parts, ++p.under_way;
    offset += s.bytes;
  }
  if (f->parts) f->outcome = r == reaching::lost ? p.life.suspicion() : why;  // reached() ends it, or end_peer()
  else if (r != reaching::lost) finish(*f, why);
  return true;
}

void message_transport::start_flush(frame& f) noexcept {
  peer& p = *f.to;
  f.what = frame_kind::flush;
  f.number = p.writes;
  const reaching r = p.line && !p.life.suspected() ? reach_->flush(f, p.doze_key) : reaching::lost;
  if (r == reaching::done) p.placed = std::max(p.placed, f.number);
  begun(f, r, {});
}

// For a message that signals and is the next to be sent.
bool message_transport::placed(peer& p, frame& f) noexcept {
  if (!f.needs) f.needs = p.writes;  // signals by key went before it in the queue
  if (p.placed < f.needs && !p.placing.to) {
    p.placing.to = &p;
    start_flush(p.placing);
  }
  return p.placed >= f.needs;
}

void message_transport::glance(peer& p) noexcept {
  if (p.glance.parts) {
    p.look_again = true;
    return;
  }
  p.look_again = false;
  p.glance.to = &p;
  status why;
  const reaching r = reach_->get(p.glance, p.doze_key, 0, reinterpret_cast<std::byte*>(&p.glance.value),
                                 sizeof p.glance.value, why);
  if (r == reaching::under_way) p.glance.parts = 1, ++p.under_way;
  else if (r == reaching::done) answer_glance(p);
}

void message_transport::answer_glance(peer& p) noexcept {
  const std::uint64_t doze = p.glance.value;
  if (!(doze & 1) || doze == p.rung || p.ringing.to) return;
  p.rung = doze;
  p.ringing.to = &p;
  p.ringing.head.kind = message_kind::bell;
  queue(p.ringing);
}

void message_transport::reached(frame& f, const status& outcome) noexcept {
  peer& p = *f.to;
  ++events_;
  --p.under_way;
  if (outcome.failed()) {
    f.outcome = outcome;
    if (p.alive()) suspect(p, outcome);
  }
  if (--f.parts) return;
  if (&f == p.oldest || f.before) unlink(f);
  const status whole = std::exchange(f.outcome, {});
  if (&f == &p.glance) {
    if (p.alive() && whole.ok()) answer_glance(p);
    if (p.alive() && whole.ok() && p.look_again) glance(p);
  } else if (!p.alive()) {
    finish(f, p.life.end());
  } else if (whole.ok() || !p.life.suspected()) {  // else end_peer() ends it
    if (f.what == frame_kind::flush && whole.ok()) p.placed = std::max(p.placed, f.number);
    finish(f, whole);
  }
  if (p.queue.front()) pump(p);
  forget_old_keys(p);
}

// A key may serve until nothing is under way or waits: one cannot tell for which.
void message_transport::forget_old_keys(peer& p) noexcept {
  if (p.under_way || p.held) return;
  for (void* key : p.old_keys) reach_->forget(key);
  p.keys -= static_cast<std::uint32_t>(p.old_keys.size());
  p.old_keys.clear();
}

// The connection is about to be closed.
void message_transport::forget_keys(peer& p) noexcept {
  if (!p.keys && !p.doze_key) return;
  segments_.each_of(p.rank, [&](member& m) {
    if (m.key) p.old_keys.push_back(std::exchange(m.key, nullptr));
  });
  for (void* key : p.old_keys) reach_->forget(key);
  p.old_keys.clear();
  p.keys = 0;
  if (p.doze_key) reach_->forget(std::exchange(p.doze_key, nullptr));
}

}  // namespace tutti::messages
