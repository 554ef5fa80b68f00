// What goes out: a queue of frames for each peer, of which the first is offered to the link until it takes it, piece by piece.
//
// One stream to one peer: each message gets the next number and the check that proves its origin, and the next is offered when
// the link has taken the last. Signals by key and flushes that had to wait (remote_access.h) are begun at their place in it.
#pragma once
#include "providers/messages/link.h"
#include "providers/messages/remote_access.h"
#include "providers/messages/responder.h"
#include "providers/messages/worklist.h"

namespace tutti::messages {

class sender {
 public:
  sender(const link_traits& traits, frame_pool& frames, remote_access& keys, responder& answers, worklist& due) noexcept
      : traits_(traits), frames_(frames), keys_(keys), answers_(answers), due_(due) {}
  void open(link& l, rank_t self) noexcept { link_ = &l, self_ = self; }

  void queue(frame&) noexcept;      // sent when the peer's endpoint is open, which it will be
  void pump(peer&) noexcept;        // sends what can be sent
  void pump_stalled() noexcept;
  void tell_room(peer&) noexcept;   // for its packets, if it is time
  void sent(peer&, const status&) noexcept;  // what the link had kept
  // The peer has ended: and with it all that waits to be sent or answered. What the link keeps or has under way ends in sent()
  // and remote_access::reached(): until then it may use its memory.
  void fail_all(peer&) noexcept;

 private:
  bool push(peer&) noexcept;        // true: what comes next in the queue must be offered again
  const std::byte* next_piece(frame&) noexcept;
  void piece_sent(peer&) noexcept;

  const link_traits& traits_;
  frame_pool& frames_;
  remote_access& keys_;
  responder& answers_;
  worklist& due_;
  link* link_ = nullptr;
  rank_t self_ = 0;
};

}  // namespace tutti::messages
