// Frames: how a message waits, goes out in pieces, and ends.
//
// A frame is on its peer's queue until all of it was sent; a request then lives on until it is answered. Whatever ends
// it, finish() does so once. While the link keeps a piece (peer::kept), only sent() may end that frame.
#include "providers/messages/transport.h"

#include <algorithm>

#include "providers/messages/authentication.h"

namespace tutti::messages {

frame* message_transport::new_frame(peer& p, message_kind kind) noexcept {
  if (!free_ || p.queued + p.under_way >= queue_limit) return nullptr;
  frame& f = *free_;
  free_ = f.next;
  ++busy_;
  f.next = nullptr, f.to = &p;
  f.head = {};
  f.head.kind = kind;
  f.source = nullptr, f.left = 0, f.piece = 0, f.value = 0;
  f.sent = f.request = f.answered = f.signals = f.marks = false;
  f.op.done = nullptr, f.op.kind = op_kind::put, f.op.local = plain_memory;
  f.what = errand::message;
  f.number = f.needs = 0;
  return &f;
}

frame* message_transport::new_request(peer& p, message_kind kind) noexcept {
  if (p.unanswered >= request_limit) return nullptr;
  frame* f = new_frame(p, kind);
  if (f) {
    f->request = true;
    f->head.cookie = std::uint64_t{f->life} << 32 | f->index;
    ++p.unanswered;
  }
  return f;
}

void message_transport::finish(frame& f, const status& outcome) noexcept {
  peer& p = *f.to;
  if (f.home == &free_) {
    if (completion* done = f.op.done) outcome.ok() ? done->finish() : done->finish(outcome);
    else if (!outcome && p.unreported && !f.marks) p.unreported = outcome;
  }
  if (f.request) --p.unanswered;
  if (f.marks) p.marking = false;
  ++f.life;
  f.to = nullptr;
  if (!f.home) return;
  f.next = *f.home;
  *f.home = &f;
  if (f.home == &free_) --busy_;
}

void message_transport::queue(frame& f) noexcept {
  peer& p = *f.to;
  f.next = nullptr;
  if (p.tail) p.tail->next = &f;
  else p.head = &f;
  p.tail = &f;
  ++p.queued;
  if (p.asked) pump(p);
  else open_soon(p);
}

void message_transport::leave_queue(frame& f) noexcept {
  peer& p = *f.to;
  frame* before = nullptr;
  for (frame* at = p.head; at && at != &f; at = at->next) before = at;
  (before ? before->next : p.head) = f.next;
  if (p.tail == &f) p.tail = before;
  f.next = nullptr;
  --p.queued;
}

// The next piece of a frame. What a peer asked for is copied first if the link may keep it: its region may be dropped.
const std::byte* message_transport::next_piece(peer& p, frame& f) noexcept {
  f.piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(f.left, traits_.piece_bytes));
  if (f.signals && f.piece == f.left) f.head.flags |= with_signal;  // behind the last byte
  if (f.head.kind != message_kind::data) return f.source;
  const std::byte* from = regions_.range(static_cast<std::uint32_t>(f.op.local), f.op.local_offset + f.head.offset, f.piece);
  if (!from) {
    f.head.flags |= memory_gone;
    f.left = f.piece = 0;
    return nullptr;
  }
  if (!p.bounce) return from;
  std::memcpy(p.bounce.get(), from, f.piece);
  return p.bounce.get();
}

void message_transport::pump(peer& p) noexcept {
  if (!push(p) || p.stalled) return;
  p.stalled = true;
  stalled_.push_back(&p);  // reserved by peer_of()
}

void message_transport::pump_stalled() noexcept {
  for (std::size_t i = 0; i < stalled_.size();) {
    if (push(*stalled_[i])) {
      ++i;
      continue;
    }
    stalled_[i]->stalled = false;
    stalled_[i] = stalled_.back();
    stalled_.pop_back();
  }
}

// True: what comes next in the queue must be offered again.
bool message_transport::push(peer& p) noexcept {
  while (p.head && !p.kept && p.line && p.end && p.suspected == time_point{}) {
    frame& f = *p.head;
    if (f.what != errand::message) {
      const bool word = f.what == errand::word;
      if (word && p.oldest && p.oldest->number <= std::max(f.needs, p.last_word)) return false;  // until reached()
      take_from_queue(p);
      p.held -= word;
      word ? set_word(f) : start_flush(f);
      continue;
    }
    if (f.signals && p.unplaced() && !placed(p, f)) return false;
    const std::byte* payload = next_piece(p, f);
    f.head.origin = rank_;
    f.head.sequence = p.sent_sequence + 1;
    if (f.head.kind == message_kind::put || f.head.kind == message_kind::data) f.head.bytes = f.piece;
    f.head.check = check_of(f.head, {payload, traits_.forgeable ? f.piece : 0u}, p.sends_by);
    switch (link_->send(p, f.head, payload, f.piece)) {
      case sending::full: return true;
      case sending::failed: return false;
      case sending::taken:
        ++p.sent_sequence;
        piece_sent(p);
        break;
      case sending::kept:
        ++p.sent_sequence;
        p.kept = true;
        break;
    }
  }
  return false;
}

void message_transport::take_from_queue(peer& p) noexcept {
  p.head = std::exchange(p.head->next, nullptr);
  if (!p.head) p.tail = nullptr;
  --p.queued;
}

void message_transport::piece_sent(peer& p) noexcept {
  frame& f = *p.head;
  f.left -= f.piece;
  f.head.offset += f.piece;
  if (f.source) f.source += f.piece;
  if (f.left) return;
  take_from_queue(p);
  f.sent = true;
  if (!f.request || f.answered) finish(f, {});
}

void message_transport::sent(peer& p, const status& outcome) noexcept {
  p.kept = false;
  ++events_;
  if (!p.end) {  // the rest of its queue has ended already
    frame& f = *std::exchange(p.head, nullptr);
    p.tail = nullptr, p.queued = 0;
    finish(f, p.end);
    close_soon(p);
  } else if (!outcome) {
    suspect(p, outcome);
  } else {
    piece_sent(p);
    pump(p);
  }
}

}  // namespace tutti::messages
