#include "providers/messages/sender.h"

#include <algorithm>

#include "providers/messages/authentication.h"

namespace tutti::messages {

void sender::queue(frame& f) noexcept {
  peer& p = *f.to;
  p.queue.push(f);
  if (p.asked) pump(p);
  else due_.open(p);
}

const std::byte* sender::next_piece(frame& f) noexcept {
  f.piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(f.left, traits_.piece_bytes));
  if (f.signals && f.piece == f.left) f.head.flags |= with_signal;  // behind the last byte
  return f.head.kind == message_kind::data ? answers_.next_piece(f) : f.source;
}

void sender::pump(peer& p) noexcept {
  if (push(p)) due_.stalled(p);
}

void sender::tell_room(peer& p) noexcept {
  if (!p.inbox.has_to_tell() || p.telling.to || !p.alive()) return;
  p.telling.to = &p;
  p.telling.head.kind = message_kind::room;
  queue(p.telling);
}

void sender::pump_stalled() noexcept {
  due_.each_stalled([this](peer& p) { return !push(p); });
}

bool sender::push(peer& p) noexcept {
  while (p.queue.front() && !p.kept && p.line && p.alive() && !p.life.suspected()) {
    frame& f = *p.queue.front();
    if (f.what != frame_kind::message) {
      const bool word = f.what == frame_kind::word;
      if (word && !keys_.may_set_word(f)) return false;  // until reached()
      p.queue.pop();
      p.held -= word;
      if (!word) keys_.flush(f);
      else if (keys_.set_word(f)) p.queue.push(p.ringing);
      continue;
    }
    if (f.signals && p.unplaced() && !keys_.placed(f)) return false;
    const std::byte* payload = next_piece(f);
    f.head.origin = self_;
    f.head.sequence = p.sent_sequence + 1;
    const message_kind kind = f.head.kind;
    const bool tells_room = kind == message_kind::packet || kind == message_kind::room;
    if (kind == message_kind::put || kind == message_kind::data || kind == message_kind::packet) f.head.bytes = f.piece;
    if (tells_room) f.head.operand = p.inbox.received();
    f.head.check = check_of(f.head, {payload, traits_.forgeable ? f.piece : 0u}, p.sends_by);
    const bool lies_in_region = kind == message_kind::data && traits_.keeps;
    sending outcome = link_->send(p, f.head, payload, f.piece, !lies_in_region);
    if (outcome == sending::full && lies_in_region) outcome = link_->send(p, f.head, p.answers.copy_of({payload, f.piece}), f.piece, true);
    if (outcome == sending::full) return true;
    if (outcome == sending::failed) return false;
    ++p.sent_sequence;
    if (tells_room) p.inbox.told(f.head.operand);
    if (outcome == sending::kept) p.kept = true;
    else piece_sent(p);
  }
  return false;
}

void sender::piece_sent(peer& p) noexcept {
  frame& f = *p.queue.front();
  f.left -= f.piece;
  f.head.offset += f.piece;
  if (f.source) f.source += f.piece;
  if (f.left) return;
  p.queue.pop();
  f.sent = true;
  if (!f.request || f.answered) frames_.finish(f, {});
  if (&f == &p.telling) tell_room(p);  // more was received while the link kept it
}

void sender::sent(peer& p, const status& outcome) noexcept {
  p.kept = false;
  if (!p.alive()) {  // the rest of its queue has ended already
    frames_.finish(*p.queue.pop(), p.life.end());
    due_.close(p);
  } else if (outcome.failed()) {
    due_.suspect(p, outcome, told_by::connection);
  } else {
    piece_sent(p);
    pump(p);
  }
}

void sender::fail_all(peer& p) noexcept {
  frame* const kept = p.kept ? p.queue.pop() : nullptr;
  p.held = 0;
  while (frame* f = p.queue.pop()) frames_.finish(*f, p.life.end());
  if (kept) p.queue.push(*kept);
  for (frame& f : frames_.all())
    if (f.to == &p && &f != kept && !f.parts) frames_.finish(f, p.life.end());
}

}  // namespace tutti::messages
