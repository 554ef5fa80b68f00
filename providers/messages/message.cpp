// Frames: how a message waits, goes out in pieces, and ends.
//
// A frame is on its peer's queue until all of it was sent; a request then lives on until it is answered. Whatever ends
// it, finish() does so once. While the link keeps a piece (peer::kept), only sent() may end that frame.
#include "providers/messages/transport.h"

#include <algorithm>

#include "providers/messages/authentication.h"

namespace tutti::messages {

frame* message_transport::new_frame(peer& p, message_kind kind) noexcept {
  return p.queue.size() + p.under_way < queue_limit ? frames_.take(p, kind) : nullptr;
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
  if (frames_.owns(f)) {
    if (completion* done = f.op.done) outcome.ok() ? done->finish() : done->finish(outcome);
    else if (outcome.failed() && p.unreported.ok() && !f.marks) p.unreported = outcome;
  }
  if (f.request) --p.unanswered;
  if (f.marks) p.marking = false;
  frames_.give_back(f);
}

void message_transport::queue(frame& f) noexcept {
  peer& p = *f.to;
  p.queue.push(f);
  if (p.asked) pump(p);
  else open_soon(p);
}

const std::byte* message_transport::next_piece(peer& p, frame& f) noexcept {
  f.piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(f.left, traits_.piece_bytes));
  if (f.signals && f.piece == f.left) f.head.flags |= with_signal;  // behind the last byte
  return f.head.kind == message_kind::data ? responder_.next_piece(f, p.answers) : f.source;
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
  while (p.queue.front() && !p.kept && p.line && p.alive() && !p.life.suspected()) {
    frame& f = *p.queue.front();
    if (f.what != frame_kind::message) {
      const bool word = f.what == frame_kind::word;
      if (word && p.oldest && p.oldest->number <= std::max(f.needs, p.last_word)) return false;  // until reached()
      p.queue.pop();
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

void message_transport::piece_sent(peer& p) noexcept {
  frame& f = *p.queue.front();
  f.left -= f.piece;
  f.head.offset += f.piece;
  if (f.source) f.source += f.piece;
  if (f.left) return;
  p.queue.pop();
  f.sent = true;
  if (!f.request || f.answered) finish(f, {});
}

void message_transport::sent(peer& p, const status& outcome) noexcept {
  p.kept = false;
  ++events_;
  if (!p.alive()) {  // the rest of its queue has ended already
    finish(*p.queue.pop(), p.life.end());
    close_soon(p);
  } else if (outcome.failed()) {
    suspect(p, outcome);
  } else {
    piece_sent(p);
    pump(p);
  }
}

}  // namespace tutti::messages
