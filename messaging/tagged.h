// Tagged messages of one rank: sends, receives and probes as in MPI, over an endpoint. The rules are at "messages" of api/tutti.h; who gets what
// is decided by messaging/matching.h; what is kept is bounded by the credits of messaging/tagged_pair.h; messaging/routes.h says which goes how.
//
// Protocols. A message whose envelope travels with its data is eager: in one message of the fabric, or in several that follow each other.
// Of a longer one, and of any where credit is short, the envelope is announced, and the data move when a receive has matched:
//   get      the announcement brings the key of the sender's memory; the receiver gets it and says that it has finished. Of what is
//            registered or packed meanwhile, more keys follow
//   put      the receiver answers with the key of its memory; the sender puts, flushes, and says that it has finished
//   staged   both copy at once: the sender into slots of its staging memory, which the receiver maps, the receiver out of them
// The sender proposes a way, and the receiver may ask for put instead. Each is a small state machine in a file of its own (way_*.cpp), whose
// states are those of `stage`; any number are under way at once.
//
// Order. Envelopes leave in the order of the sends: those without credit wait in a list of the pair, those that the fabric refuses in the
// endpoint's queue, and none passes another. What the protocols say afterwards names its operation and is ordered by itself.
//
// Completion. `done` is begun when an operation starts and finished with its outcome when it is over, in whatever call that is found; its
// buffers are not touched after that.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/job/team.h"
#include "messaging/design.h"
#include "messaging/endpoint.h"
#include "messaging/kept.h"
#include "messaging/lasting_memory.h"
#include "messaging/matching.h"
#include "messaging/operation.h"
#include "messaging/routes.h"
#include "messaging/staging.h"

namespace tutti::messaging {

struct send_arguments {
  team* group;
  std::uint32_t to;        // index in the team
  std::uint64_t tag;
  const void* data;
  std::uint64_t bytes;
  bool sync = false;
  const block_layout* layout = nullptr;  // not null: how the data lie around `data`; `bytes` does not matter
};

struct receive_arguments {
  team* group;
  std::uint32_t from;      // index in the team, or operation::any
  std::uint64_t tag, mask;
  void* data;
  std::uint64_t room;
  envelope* found;         // may be null
  const block_layout* layout = nullptr;  // likewise
};

struct far_memory;

inline status no_memory_for_receive() { return {errc::no_resource, "out of memory for a receive"}; }

class tagged final : public message_engine {
 public:
  explicit tagged(endpoint&) noexcept;  // by the design of the job
  ~tagged();

  // Blocking. Indices are checked by the caller.
  status send(const send_arguments&) noexcept;
  bool try_send(const send_arguments&) noexcept;       // does not block; false: nothing was done
  status receive(const receive_arguments&) noexcept;
  status exchange(const send_arguments&, const receive_arguments&) noexcept;
  // Begin `done` and finish it sooner or later; errors, on which it was not begun: no_resource, peer_dead. `out`, if not null, is the
  // operation for cancel(), or null if it is over already.
  status start_send(const send_arguments&, completion& done, operation** out) noexcept;
  status start_receive(const receive_arguments&, completion& done, operation** out) noexcept;
  // Of an operation whose completion is still pending. True: no message had matched the receive; it is over.
  bool cancel(operation&) noexcept;

  // The oldest message that a receive with these arguments would take; null: none is here. progress is the caller's.
  kept* find(const receive_arguments&) noexcept;
  envelope envelope_of(const kept&, team& group) const noexcept;
  // Blocks until there is one.
  status probe(const receive_arguments&, kept*& found) noexcept;
  std::uint64_t take_out(kept&, team&) noexcept;              // of the matching: its ticket
  kept* with_ticket(std::uint64_t ticket) noexcept;    // null: there is none
  // Of its receive, `group` and `from` and the tag do not matter.
  status receive_matched(kept&, const receive_arguments&) noexcept;  // blocking
  status start_matched(kept&, receive_arguments, completion& done, operation** out) noexcept;

  void poll() noexcept {           // for a wait that spins
    end_.poll_one();
    if (active_) step_all();
  }
  void wait_over(completion&, const char* what, rank_t from, const operation*);  // blocks until it is idle; the operation may be null
  std::string in_words(const operation&) const;  // what one that is under way waits for
  void forget(team&) noexcept;     // the team goes: its receives end, its messages are dropped
  endpoint& end() noexcept { return end_; }

  // Memory that stays registered until conceal(); `mapped`: it is of transport::allocate(). Messages from it and into it need no copy besides.
  void expose(std::span<const std::byte> memory, region_id r, bool mapped) noexcept { lasting_.add(job_.net(), memory, r, mapped); }
  void conceal(region_id r) noexcept { lasting_.remove(r); }

  // message_engine
  bool take(peer&, const wire_prefix&, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
  void advance() noexcept override;
  void lost(peer&) noexcept override;
  void look() noexcept override;

 private:
  friend bool share(tagged&, operation&, std::uint64_t bytes) noexcept;
  friend bool in_lasting(tagged&, const operation&, std::uint64_t bytes) noexcept;
  friend bool share_lasting(tagged&, operation&, std::uint64_t bytes) noexcept;
  friend bool share_in_parts(tagged&, operation&, std::uint64_t bytes) noexcept;
  friend bool reach(tagged&, operation&, const far_memory&) noexcept;
  friend bool reach_more(tagged&, operation&, const far_memory&) noexcept;
  friend std::uint64_t name_memory(tagged&, operation&, std::uint64_t most) noexcept;
  friend bool prepare_lists(tagged&, operation&, op_kind) noexcept;
  friend bool move(tagged&, operation&, op_kind) noexcept;
  friend struct way_get;
  friend struct way_put;
  friend struct way_staged;
  friend struct way_stream;
  using bytes_view = std::span<const std::byte>;

  // send.cpp
  void meet(peer&) noexcept;
  bool send_eagerly_now(peer&, const send_arguments&) noexcept;
  bool sent_at_once(peer&, const send_arguments&) noexcept;
  bool dispatch(peer&, operation&) noexcept;           // a send whose turn it is; false: there is no credit
  void choose_way(peer&, operation&, const message_load&) noexcept;
  bool set_out(peer&, operation&, route) noexcept;
  void dispatch_waiting(peer&) noexcept;
  static bool offer_eager(outgoing&, endpoint&, peer&) noexcept;
  static bool offer_announcement(outgoing&, endpoint&, peer&) noexcept;
  static void eager_over(outgoing&, endpoint&, peer&, const status&) noexcept;
  static void announcement_over(outgoing&, endpoint&, peer&, const status&) noexcept;

  // receive.cpp
  bool take_eager(peer&, const wire_prefix&, bytes_view header, bytes_view payload) noexcept;
  bool take_fragment(peer&, const wire_prefix&, bytes_view header, bytes_view payload) noexcept;
  bool take_announcement(peer&, const wire_prefix&, bytes_view header, bytes_view payload) noexcept;
  bool take_control(peer&, const wire_prefix&, bytes_view header, bytes_view payload) noexcept;
  operation* matching_receive(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept;
  kept* keep(peer&, std::uint64_t team, std::uint64_t tag, std::uint64_t bytes) noexcept;
  bool wanted_here(std::uint64_t team) noexcept;       // false: the team was freed
  void let_go(kept&) noexcept;                         // gives its memory back
  void drop(kept&) noexcept;                           // nobody will receive it
  void released(kept&) noexcept;                       // a receive has taken it: its credit goes back
  status post(operation&) noexcept;
  void unpost(operation&) noexcept;
  operation* new_receive(const receive_arguments&, completion&) noexcept;
  void give_payload(operation&, std::uint64_t at, bytes_view) noexcept;
  void match(operation&, kept&) noexcept;
  bool pair_up(operation&, peer&) noexcept;            // false: it is over, for the message is of no member of its team
  void begin_rendezvous(operation&, std::uint64_t bytes, std::uint64_t other, way, const far_memory&) noexcept;
  void finish_receive(operation&) noexcept;
  void finish_posted(operation&, peer&, bytes_view whole) noexcept;  // one that this message met, and has room for
  void acknowledge(peer&, std::uint64_t name, bool failed = false) noexcept;

  // in_words.cpp
  std::string unmatched_here(std::uint64_t team, rank_t source, std::uint64_t tag) const;
  std::string awaited_in_words(std::uint64_t team, rank_t source, std::uint64_t tag, std::uint64_t mask) const;

  // tagged.cpp
  operation* new_operation(completion* done) noexcept;
  void end(operation&, const status&) noexcept;        // over, once the transport is done with it
  void let_go_of_memory(operation&) noexcept;
  void retire(operation&) noexcept;
  bool set_data(operation&, const void* data, std::uint64_t bytes, const block_layout*) noexcept;  // false: out of memory
  bool need_buffer(operation&, std::uint64_t bytes, bool fill) noexcept;  // in one piece from now on; false: out of memory
  void activate(operation&) noexcept;
  void step_all() noexcept;
  void step(operation&) noexcept;
  void count(operation&, peer&) noexcept;
  // A message to the other end of an operation, now or from the queue: at most one waits for each operation.
  void tell(operation&, bool (*offer)(outgoing&, endpoint&, peer&) noexcept) noexcept;
  // The same for what no operation keeps: copied where it must wait. Where there is no memory for that, the peer is lost soon.
  void say(peer&, bytes_view header, bytes_view payload) noexcept;
  static tagged& of(endpoint&) noexcept;

  // credit.cpp
  wire_prefix prefix_for(const tagged_pair&, wire_kind, std::uint8_t flags = 0) const noexcept;
  void credits_went(peer&, const wire_prefix&) noexcept;
  void credits_came(peer&, std::uint32_t units) noexcept;
  void charge(peer&, std::uint32_t cost) noexcept;     // no more than its allowance
  void release(peer&, std::uint32_t cost) noexcept;
  void return_credits(peer&) noexcept;
  void relieve(peer&) noexcept;
  void hold(kept&) noexcept;                           // what has just come and been charged
  bool copy_to_send(operation&) noexcept;              // false: no room
  void let_go_of_copy(operation&) noexcept;
  void relieve_all(operation&) noexcept;               // a receive was posted

  endpoint& end_;
  job& job_;
  matching matching_;
  operation_pool operations_;
  operation* fast_ = nullptr;      // the one receive that is posted, of a blocking call, kept out of the matching
  operation* active_ = nullptr;
  kept* all_kept_ = nullptr;
  std::uint64_t next_ticket_ = 0;
  std::uint32_t exhausted_ = 0;    // peers whose allowance is used up
  std::uint64_t room_;             // bytes for kept messages of all senders
  std::uint64_t room_to_send_;     // bytes for copies of messages that wait for credit
  std::uint32_t sends_ = 0;
  bool doomed_ = false;            // some peer, for want of memory
  const design& design_;
  const pair_routes near_, far_;   // to ranks of this node, and to others
  std::uint32_t from_any_ = 0;     // receives from any source that wait
  staging_memory staging_;
  lasting_memory lasting_;
};

inline wire_prefix tagged::prefix_for(const tagged_pair& pair, wire_kind kind, std::uint8_t flags) const noexcept {
  return {static_cast<std::uint8_t>(kind), flags, static_cast<std::uint16_t>(std::min<std::uint32_t>(pair.owed, 0xffff)), 0};
}

inline void tagged::credits_went(peer& p, const wire_prefix& sent) noexcept {
  if (sent.credits == 0) return;
  tagged_pair& pair = p.tagged;
  pair.owed -= sent.credits;
  if (pair.allowance == 0) --exhausted_;
  pair.allowance += sent.credits;
}

}  // namespace tutti::messaging
