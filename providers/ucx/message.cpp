// Frames: how a message waits, goes out in pieces, and ends.
//
// A frame is on its peer's queue until all of it was sent; a request then lives on until it is answered. Whatever ends
// it, finish() does so once. While UCX holds a piece (peer::in_ucx), only sent_by_ucx() may end that frame.
//
// Pieces are offered to UCX twice: to be sent at once and, if there is no room or the piece is too long for that, to be
// kept until they can be. The second way is barred until the peer was heard. With the first kept message UCX 1.13 asks
// the peer for the name of its endpoint; if the peer has to keep its answer, because its own connection to here is not
// made yet, and that connection fails or its worker is closed, an assertion in UCX ends the process. Whoever was heard
// has a connection to here, so its answer goes at once. And whoever hears opens its own connection, and greets.
#include "providers/ucx/callbacks.h"
#include "providers/ucx/transport.h"

#include <algorithm>

namespace tutti::ucx {

frame* ucx_transport::new_frame(peer& p, message_kind kind) noexcept {
  if (!free_ || p.queued >= queue_limit) return nullptr;
  frame& f = *free_;
  free_ = f.next;
  ++busy_;
  f.next = nullptr, f.to = &p;
  f.head = {};
  f.head.kind = kind;
  f.head.cookie = std::uint64_t{f.life} << 32 | f.index;
  f.source = nullptr, f.left = 0, f.piece = 0, f.value = 0;
  f.sent = f.request = f.answered = f.signals = f.marks = false;
  f.op.done = nullptr;
  return &f;
}

frame* ucx_transport::new_request(peer& p, message_kind kind) noexcept {
  if (p.unanswered >= request_limit) return nullptr;
  frame* f = new_frame(p, kind);
  if (f) {
    f->request = true;
    ++p.unanswered;
  }
  return f;
}

void ucx_transport::finish(frame& f, const status& outcome) noexcept {
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

void ucx_transport::queue(frame& f) noexcept {
  peer& p = *f.to;
  f.next = nullptr;
  if (p.tail) p.tail->next = &f;
  else p.head = &f;
  p.tail = &f;
  ++p.queued;
  if (p.asked) pump(p);
  else open_soon(p);
}

// The next piece of a frame. What a peer asked for is copied first: its region may be dropped while UCX sends.
const std::byte* ucx_transport::next_piece(peer& p, frame& f) noexcept {
  f.piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(f.left, piece_bytes_));
  if (f.signals && f.piece == f.left) f.head.flags |= with_signal;  // behind the last byte
  if (f.head.kind != message_kind::data) return f.source;
  const std::byte* from = range(static_cast<std::uint32_t>(f.op.local), f.op.local_offset + f.head.offset, f.piece);
  if (!from) {
    f.head.flags |= memory_gone;
    f.left = f.piece = 0;
    return nullptr;
  }
  std::memcpy(p.bounce.get(), from, f.piece);
  return p.bounce.get();
}

void ucx_transport::pump(peer& p) noexcept {
  if (!push(p) || p.stalled) return;
  p.stalled = true;
  stalled_.push_back(&p);  // reserved by peer_of()
}

void ucx_transport::pump_stalled() noexcept {
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
bool ucx_transport::push(peer& p) noexcept {
  ucp_request_param_t at_once, kept;
  at_once.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  kept.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  at_once.flags = kept.flags = UCP_AM_SEND_FLAG_EAGER;  // a rendezvous would deliver it later than what follows
  kept.cb.send = callbacks::on_sent;
  kept.user_data = &p;
  while (p.head && !p.in_ucx && p.ep && p.end && p.suspected == time_point{}) {
    frame& f = *p.head;
    const std::byte* payload = next_piece(p, f);
    f.head.origin = rank_;
    f.head.sequence = p.sent_sequence + 1;
    void* request = ucp_am_send_nbx(p.ep, am_id, &f.head, sizeof f.head, payload, f.piece, &at_once);
    if (UCS_PTR_STATUS(request) == UCS_ERR_NO_RESOURCE) {
      if (!p.heard && now() < p.kept_from) return true;
      request = ucp_am_send_nbx(p.ep, am_id, &f.head, sizeof f.head, payload, f.piece, &kept);
    }
    ++p.sent_sequence;
    if (!request) {
      piece_sent(p);
    } else if (UCS_PTR_IS_ERR(request)) {
      suspect(p, vendor_error(UCS_PTR_STATUS(request), "sending", p.rank));
    } else {
      p.in_ucx = true;
    }
  }
  return false;
}

void ucx_transport::piece_sent(peer& p) noexcept {
  frame& f = *p.head;
  f.left -= f.piece;
  f.head.offset += f.piece;
  if (f.source) f.source += f.piece;
  if (f.left) return;
  p.head = std::exchange(f.next, nullptr);
  if (!p.head) p.tail = nullptr;
  --p.queued;
  f.sent = true;
  if (!f.request || f.answered) finish(f, {});
}

void ucx_transport::sent_by_ucx(peer& p, ucs_status_t outcome) noexcept {
  p.in_ucx = false;
  ++events_;
  if (!p.end) {  // the rest of its queue has ended already
    frame& f = *std::exchange(p.head, nullptr);
    p.tail = nullptr, p.queued = 0;
    finish(f, p.end);
    close_soon(p);
  } else if (outcome != UCS_OK) {
    suspect(p, vendor_error(outcome, "sending", p.rank));
  } else {
    piece_sent(p);
    pump(p);
  }
}

}  // namespace tutti::ucx
