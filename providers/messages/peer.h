// What a rank knows of one peer.
#pragma once
#include <vector>

#include "providers/common/peer_life.h"
#include "providers/common/process_watch.h"
#include "providers/messages/frames.h"
#include "providers/messages/inbox.h"
#include "providers/messages/message_order.h"
#include "providers/messages/shared_memory.h"

namespace tutti::messages {

inline constexpr std::uint32_t queue_limit = 256;    // frames to one peer, so that a slow one leaves room to others
class messenger;

struct peer {
  messenger* net = nullptr;    // for the callbacks of a link's library
  rank_t rank = no_rank;
  peer_life life;
  status unreported;           // of an operation that named no completion
  void* line = nullptr;        // the link's connection
  process_watch process;       // of this host
  unique_fd liveness;          // to a peer on another host, where the link does not tell losses
  bool line_stood = false, line_beside = false;
  bool asked = false;          // an endpoint was opened, or that was tried
  bool heard = false;          // it has sent to me, so it wants to know when I leave
  bool stalled = false;        // its queue is offered again by and by
  bool marking = false;        // a mark is under way, after which signals may go directly
  bool lost = false;           // the link says that the connection is
  bool kept = false;           // the first of the queue is in the link's hands
  linked_queue<frame> queue;   // what waits to be sent, in order
  std::uint32_t unanswered = 0;
  siphash_key sends_by{}, hears_by{};  // checks of what goes there, and of what comes from there
  std::uint64_t sent_sequence = 0;
  message_order order;         // of what comes
  std::uint64_t traffic = 0;   // messages that change memory, ever
  std::uint64_t applied = 0;   // those that the peer is known to have applied
  time_point judged_at{};      // of a suspected one: at the latest
  std::uint64_t rung = 0;      // its sleep for which it was rung: what its doze word was then
  std::uint64_t* doze = nullptr;  // the peer's doze word, mapped
  mapping doze_page;
  frame greeting, ringing, farewell;
  answer_pool answers;

  // Two-sided messages (packets.h):
  messages::inbox inbox;
  outgoing_room packet_room;
  frame telling;               // of room
  peer* next_in_line = nullptr;
  bool in_line = false;        // of those with packets that were not received, or one of them is in its receiver's hands

  // By key (remote_access.h):
  void* doze_key = nullptr;    // to the peer's doze word; without it nothing goes by key
  std::uint32_t under_way = 0;  // operations of the link
  std::uint32_t held = 0;      // signals by key in the queue
  std::uint64_t writes = 0;    // handed to the link, ever
  std::uint64_t placed = 0;    // those that are known to lie in the peer's memory
  std::uint64_t last_word = 0;  // the number of the last signal
  frame* oldest = nullptr;     // writes under way, in the order in which they were begun
  frame* newest = nullptr;
  frame placing;               // a flush that messages wait for
  frame glance;                // a look at the doze word
  bool look_again = false;     // there was a signal after the glance was taken
  std::vector<void*> old_keys;  // of dropped segments, to be forgotten when nothing is under way
  std::uint32_t keys = 0;      // unlocked and not forgotten, the doze word's left out

  bool alive() const noexcept { return life.alive(); }
  bool unapplied() const noexcept { return traffic != applied; }
  bool unplaced() const noexcept { return writes != placed || held; }
  // What an operation that named no completion came to: its next flush tells the first error.
  void report(const status& outcome) noexcept {
    if (outcome.failed() && unreported.ok()) unreported = outcome;
  }
};

}  // namespace tutti::messages
