// Operations by key: the fabric reaches into the peer's memory by itself (one_sided.h), the peer only looks at it.
//
// Order, where the fabric needs nobody at the target. A fence orders what was handed to the fabric. It does not order what
// the link's library still keeps, which may be handed over after it. So a signal by key is set behind a fence, once no write
// taken before it is under way, those left out that the link orders all the same (in_order()); until then it waits in the
// peer's queue, and later signals behind it. Small writes are handed over at once, and the signal follows at once. That covers
// its own payload, `everything`, and earlier signals to its word, as long as all of that went by key. Where messages are
// unaccounted for (peer::unapplied()) a signal follows them as a message; and a message that signals waits until what was
// written by key lies in the peer's memory, which a flush tells. Both ways the later one starts when the earlier one is in effect.
//
// Where it does need somebody, no word goes by key, and the link sends no message before what was put earlier
// (one_sided::alone()). So a signal by message is applied behind its payload and `everything`, and an answered mark tells that
// all has been put. Gets are ordered with nothing.
//
// A word is 8 aligned bytes, which adapters store whole; what an origin sets by key and what a processor adds are never
// meant for one word at one time (clause 7 makes added signals atomic to added ones, not to set ones).
//
// Sleep. Nothing wakes a rank when a word is set in its memory. So the origin, behind the signal, reads the peer's doze
// word (doze.h) and sends a bell if that is odd: if the peer's last look came before the signal, then the doze word was odd
// before the signal, and the glance finds it odd. One glance is under way at a time; a signal meanwhile causes another one. A
// reliable connection never lets a read overtake an earlier write, so there is no fence between the two; and if one did, the
// peer would look by itself when its longest sleep is over. (A fenced read was tried: soft-RoCE in Linux 6.1 can forget a read
// that waits at its fence until something else is sent, and a flush meanwhile waits for that read.)
#pragma once
#include "providers/messages/frame_pool.h"
#include "providers/messages/link.h"
#include "providers/messages/members.h"
#include "providers/messages/worklist.h"

namespace tutti::messages {

class remote_access {
 public:
  remote_access(frame_pool& frames, worklist& due) noexcept : frames_(frames), due_(due) {}
  void open(one_sided* reach, std::uint32_t piece_bytes) noexcept {
    reach_ = reach, alone_ = reach && reach->alone(), piece_bytes_ = piece_bytes;
  }
  // Whether (segment's member, bytes) goes by key: a word, which asks for a fabric that needs nobody, or a payload.
  bool serves(const member* m, std::uint64_t bytes) const noexcept { return m && m->key && (alone_ || bytes > piece_bytes_); }

  // Begins the frame's operation. What does not stay under way has ended, unless it is `lost`: then the peer's end will.
  reaching put(frame&, void* key, std::uint64_t offset, const std::byte* from, std::uint32_t bytes) noexcept;
  void get(frame&, const member& from, region_table& into) noexcept;  // as f.op says
  void flush(frame&) noexcept;
  // Sets the frame's word (key, op.signal_offset, value) behind a fence. True: the peer is to be rung.
  bool set_word(frame&) noexcept;
  bool may_set_word(const frame&) const noexcept;  // no write that it must follow is under way
  // For a message that signals and is the next to be sent: what it must follow lies in the peer's memory. False: when the flush
  // is done that was begun for it.
  bool placed(frame&) noexcept;

  // What was under way for a frame has ended. True: the peer is to be rung.
  bool reached(frame&, const status&) noexcept;

 private:
  reaching begin_put(frame&, void* key, std::uint64_t offset, const std::byte* from, std::uint32_t bytes, status& why) noexcept;
  void begun(frame&, reaching, const status& why) noexcept;
  bool glance(peer&) noexcept;
  static void unlink(frame&) noexcept;

  frame_pool& frames_;
  worklist& due_;
  one_sided* reach_ = nullptr;     // the link's, if it has that
  bool alone_ = false;             // and it needs nobody at the target
  std::uint32_t piece_bytes_ = 0;  // of a message
};

}  // namespace tutti::messages
