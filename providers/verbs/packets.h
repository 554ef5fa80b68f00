// Two-sided messages (packets here, since everything is a message): what this rank sends, and what it was sent by all.
//
// A message is one SEND on the pair's queue pair. It is copied into a registered buffer of this rank (a slot), from which the
// adapter takes it, and arrives in a buffer of the target's shared receive queue (receiver.h), where it stays until the target
// has received it and gone on to the next. So nothing is copied at the target, and all origins share its buffers.
//
// Credit. Messages between two ranks are numbered from 0 on, and a target tells each origin a limit: it may send those before
// it. Limits only grow, and travel in every packet the other way; where none goes, in one of their own. All that a target
// allows and has not received is at most the buffers that it has beside those for rings, which is what keeps its queue from
// running dry (receiver.h):
//  - An origin that nobody knows has a limit of 0. Its first message is taken, waits in a slot and asks.
//  - The target then makes packet_window buffers more and keeps them for this origin: its limit is always so far ahead of what
//    was received, and told when half of the window was received and not told. So the origin asks once and never again.
//  - Where there can be no more buffers (the adapter's queue, memory that may be locked, or 4096: 480 origins) it takes turns
//    with the others in that case for receiver::leases() buffers: a message waits in its slot and asks; the target puts its
//    origin in a line, and allows the first in line one message whenever one of those buffers is free. The message is there
//    already, so what is allowed is used at once, and no buffer waits for who has nothing to send.
// A sender is refused while it has a message that waits, or no slot. A rank that receives whatever it is sent frees every
// buffer again, so that each limit moves on, and each in line has its turn.
//
// None is passed over. Origins with messages wait in a line of their own; receive() serves the first and sends it to the
// line's end.
//
// Slots. Each peer has one of its own, and all together so many more (shared_slots). One is free when the adapter has
// completed its SEND, for which the target's program need not run, as a receive is posted. So a target that does not run holds
// the one slot of the message that waits, and takes none from others.
//
// A connection that breaks (by another operation's error, say) loses no message. What was sent and not completed stays in its
// slot and is sent again upon the next connection, in its order; the target drops by its number what it has already. What was
// completed has arrived, and the target takes what has arrived before it lets a queue pair go (receiver::dismiss). Limits and
// questions that may have been lost are sent again; sums that come twice say nothing new.
#pragma once
#include "core/transport/two_sided.h"
#include "providers/common/linked.h"
#include "providers/verbs/requests.h"

namespace tutti::verbs {

inline constexpr std::uint32_t packet_window = 8, shared_slots = 64;

struct correspondence {          // with one peer
  peer* with = nullptr;
  correspondence* next = nullptr;  // in the line of those with messages

  // To it.
  std::uint32_t taken = 0;       // number of the next message
  std::uint32_t limit = 0;       // those before it may be sent
  bool kept = false;             // the limit moves on without being asked
  bool asked = false;
  bool has_slot = false;         // of its own
  std::uint32_t first = 0, last = 0;  // its slots in order, if it has any
  std::uint32_t slots = 0, posted = 0;  // of these, from the first on
  std::uint32_t unposted = 0;    // the first that is not, if one is not
  bool owes = false;             // in `owing`: it could not be posted, and nothing but room on the queue pair is missing

  // From it.
  packet_origin* origin = nullptr;
  std::uint32_t received = 0;
  std::uint32_t allowed = 0, told = 0;  // before which messages it may send; and what of that it was told
  bool known = false;            // it was decided whether to keep buffers for it
  bool keeps = false;            // packet_window of them
  bool leased = false;           // allowed one message that has not come yet
  bool asking = false;           // in the line for a lease,
  std::uint32_t asked_for = 0;   // for this one
  bool room_owed = false;        // it is to be told its limit
  std::uint32_t inbox_first = 0, inbox_last = 0, inbox = 0;
  bool in_line = false;          // also while one of its messages is held
  correspondence* next_asking = nullptr;
};

class packets {
 public:
  packets(endpoint& end, requests& out) noexcept : end_(end), in_(end.in()), out_(out) {}
  status open(std::uint32_t ranks);
  void close() noexcept { slots_.close(); }

  static two_sided::limits limits() noexcept;
  // To a peer that is alive. False: full, or there is no memory for it, which p.lacks then tells.
  bool send(peer&, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  bool receive(two_sided::message&) noexcept;

  // What has come. Not ok: the peer breaks the protocol, or there is no memory to serve it.
  status heard(peer&, const packet_news&) noexcept;
  void arrived(peer&, std::uint32_t place) noexcept;

  // Of its connection and its life.
  void connected(peer&) noexcept;
  void dropped(peer&) noexcept;              // all that was posted has ended, and all that came was heard
  void ended(peer&) noexcept;                // it is not alive any more
  bool wants_connection(const peer&) const noexcept;
  void finished(peer&, work, bool well) noexcept;
  bool any_owes() const noexcept { return !owing_.empty(); }
  void post_owed() noexcept;

 private:
  correspondence* with(peer&) noexcept;      // null: no memory
  status get_slot(correspondence&) noexcept; // of its own
  bool take_slot(correspondence&, std::uint32_t& slot) noexcept;
  void release_slot(correspondence&) noexcept;  // the first
  void post(peer&) noexcept;                 // whatever may go
  bool try_post(peer&) noexcept;             // false: the queue pair is full
  void post_message(peer&, correspondence&) noexcept;
  void post_room(peer&, correspondence&, packet_kind) noexcept;
  void tell_limit(packet_head&, correspondence&) noexcept;
  void answer(peer&, correspondence&, std::uint32_t number) noexcept;  // it asks
  void lease() noexcept;                     // to those in line
  void give_up(correspondence&) noexcept;    // upon one that is not alive: what is kept for it
  void release_held() noexcept;

  endpoint& end_;
  receiver& in_;
  requests& out_;
  packet_buffers slots_;
  std::vector<std::uint32_t> next_slot_;     // of the same peer, or free
  std::uint32_t free_slot_ = receiver::none;
  std::uint32_t own_slots_ = 0, shared_used_ = 0;
  std::uint32_t spare_ = 0;                  // receive buffers that are kept for nobody yet
  std::int32_t leases_ = 0;                  // free; fewer than none: of the dead, whose last message came later than thought
  std::vector<std::uint32_t> next_in_inbox_; // by receive buffer
  linked_queue<correspondence> line_;
  correspondence* first_asking_ = nullptr;
  correspondence* last_asking_ = nullptr;
  std::vector<correspondence*> owing_;       // room for all is reserved
  std::uint32_t all_ = 0;
  correspondence* held_by_ = nullptr;        // whose message the caller has
  std::uint32_t held_ = 0;
};

}  // namespace tutti::verbs
