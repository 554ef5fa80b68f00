// The transport contract by messages, upon any library that carries them (link.h). Three ways lead to a peer's memory:
//
// Mapped. Memory from allocate() on a fabric with shared memory can be mapped by a peer on this host. Operations upon it
// are loads, stores and CPU atomics of the origin; the target takes no part.
//
// By key. Where the fabric reaches memory by itself (one_sided.h), puts, gets, and signals that set a word are its
// operations; the target only looks at its memory (one_sided.cpp). Atomics and signals that add stay messages: those of an
// adapter are not atomic to a CPU's, and the words are shared with ranks of this host that map them. Where the fabric needs
// the target's program, what is longer than a message still goes by key, because no copy is made of it: libfabric's tcp puts
// 1 MiB three to five times as fast as by pieces through both ends' buffers. Signals are messages then, and follow. Only memory
// from allocate() has keys there (add()).
//
// Messages. Everything else is a message, applied by the target in its progress(). The vendors' libraries emulate their
// own put, get and atomics in the same way on such fabrics (tcp, and private memory on one host), so nothing is lost;
// and what is gained is one message for payload and signal together, ranges checked at the target, and atomics that are
// those of the target's CPU: UCX's emulation, for one, uses plain loads and stores, which would tear those of other
// processes that share the memory.
//
// Order. Messages of one origin to one target are one stream: a link keeps their order, and gets the next only when it
// has taken the last. Whether or not its library's manual promises that, every message is numbered, and a gap ends the
// connection rather than the order. The target applies a message before it looks at the next. So a signal by message
// overtakes nothing that went by message. A store to mapped memory is visible before any later message or store with
// release order. The one danger is a direct signal overtaking messages; hence a signal takes the direct way only when no
// message to that rank is unaccounted for (peer::unapplied()), and follows them as a message otherwise. That also keeps
// signals to one word in order.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/multicast/ip_multicast.h"
#include "core/transport/multicast.h"
#include "core/transport/offload.h"
#include "core/transport/provider.h"
#include "providers/messages/blobs.h"
#include "providers/messages/frames.h"
#include "providers/messages/link.h"
#include "providers/common/peer_life.h"
#include "providers/common/process_watch.h"
#include "providers/common/segment_table.h"
#include "providers/common/sleeper.h"
#include "providers/messages/liveness.h"
#include "providers/messages/message_order.h"
#include "providers/messages/regions.h"
#include "providers/messages/responder.h"
#include "providers/messages/rules.h"
#include "providers/messages/shared_memory.h"
#include "providers/messages/silence.h"
#include "providers/messages/wire.h"

namespace tutti::messages {

inline constexpr std::uint32_t queue_limit = 256;    // frames to one peer, so that a slow one leaves room to others
inline constexpr std::uint32_t max_slices = 64;
struct peer;
class message_transport;

struct peer {
  message_transport* net = nullptr;  // for the callbacks of a link's library
  rank_t rank = no_rank;
  peer_life life;
  status unreported;           // of an operation that named no completion
  void* line = nullptr;        // the link's connection
  process_watch process;       // of this host
  unique_fd liveness;          // to a peer on another host, where the link does not tell losses
  bool line_stood = false, line_beside = false;
  bool asked = false;          // an endpoint was opened, or that was tried
  bool heard = false;          // it has sent to me, so it wants to know when I leave
  bool stalled = false;        // in stalled_
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
  std::uint64_t rung = 0;      // its doze for which it was rung
  std::uint64_t* doze = nullptr;  // the peer's doze word, mapped
  mapping doze_page;
  frame greeting, ringing, farewell;
  answer_pool answers;

  // By key (one_sided.cpp):
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
};

struct member {                // of a segment, as this rank sees it
  std::byte* mapped = nullptr;
  void* key = nullptr;         // the link's
  std::uint64_t bytes = 0;
  mapping foreign;             // what is to be unmapped: not this rank's own
  std::uint32_t region = 0;
  bool resolved = false;       // mapping was tried
  bool absent = true;          // exposes nothing, or was detached
};

class message_transport final : public transport {
 public:
  static result<std::unique_ptr<transport>> open(const open_params&, std::unique_ptr<link>);
  ~message_transport() override;

  const capabilities& caps() const noexcept override { return traits_.caps; }
  multicast* mcast() noexcept override { return ip_ ? ip_->usable() : nullptr; }
  offload* offloader() noexcept override { return link_->offloader(); }
  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs, time_point) override;
  bool reaches(rank_t) const noexcept override;

  result<region_id> add(std::span<std::byte> memory) override { return regions_.add(memory); }
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override { return regions_.allocate(bytes, memory); }
  result<std::vector<std::byte>> key(region_id id) override { return regions_.key(id); }
  result<segment_id> attach(const rank_map&, shared_blobs) override;
  void drop(segment_id) noexcept override;
  void drop(region_id) noexcept override;
  std::byte* map(segment_id, rank_t) noexcept override;

  std::size_t submit(std::span<const rma_op>) noexcept override;
  bool flush(rank_t, completion*) noexcept override;
  unsigned progress() noexcept override;

  armed arm() noexcept override { return armed_if(arm_all()); }
  void sleep(armed, time_point) noexcept override;
  bool arm_fd() noexcept override;
  int wait_fd() noexcept override { return sleep_.fd(); }
  void disarm() noexcept override;
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  status health(rank_t) noexcept override;

  // --- for the link ----------------------------------------------------------------------------------------------
  rank_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return size_; }
  // Whatever came, a header and its payload as far as there are any. The caller's memory may be reused afterwards.
  void receive(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  void sent(peer&, const status&) noexcept;              // what send() had kept
  void reached(frame&, const status&) noexcept;          // a put, get or flush that was under way
  void suspect(peer&, status, told_by = told_by::connection) noexcept;  // judged when it has had a moment
  void connection_lost(peer&, status) noexcept;          // nothing more will be sent or received through it
  std::span<peer* const> opened() const noexcept { return open_; }  // every peer with a connection, now or earlier
  void close_suspects() noexcept;                        // while leaving; not inside progress()

  // Messages that were dropped before they could change anything: without proof of a rank of this job, or repeated.
  std::uint64_t rejected() const noexcept { return rejected_; }

 private:
  message_transport() = default;
  status start(const open_params&, std::unique_ptr<link>);

  // endpoint.cpp: opening lazily, and how a peer ends
  peer* peer_of(rank_t) noexcept;              // null: out of memory
  void open_endpoint(peer&) noexcept;
  void open_soon(peer&) noexcept;              // inside a link's callbacks connections are not opened
  void watch_process(peer&, std::int32_t pid) noexcept;
  void watch_host(peer&, const liveness_address&) noexcept;
  void read_liveness(peer&) noexcept;
  void close_watches(peer&) noexcept;
  bool same_host(rank_t) const noexcept;
  std::string ranks_beside(rank_t) const;  // for a sentence on its death: "" on this host
  void end_peer(peer&, status, told_by = told_by::connection) noexcept;  // ends all its operations; safe inside a link's callbacks
  void end_dead_peer(peer&) noexcept;
  void fail_queue(peer&) noexcept;
  void close_soon(peer&) noexcept;             // safe inside a link's callbacks
  void close_endpoints() noexcept;             // of dead peers
  status cause_of(status why) const noexcept;
  void judge(peer&) noexcept;
  void judge_suspects() noexcept;
  void drain() noexcept;
  void look_for_deaths() noexcept;             // what the descriptors say

  // leave.cpp
  bool say_goodbye() noexcept;
  void part_from(peer&) noexcept;

  // memory.cpp
  member& view(segment_id, rank_t) noexcept;
  void resolve(member&, segment_id, rank_t) noexcept;
  void end_puts_from(region_id, bool callers) noexcept;
  void release(member&, rank_t) noexcept;

  // submit.cpp
  bool take(const rma_op&) noexcept;
  bool take_put(const rma_op&, peer&) noexcept;
  bool take_get(const rma_op&, peer&) noexcept;
  bool take_atomic(const rma_op&, peer&) noexcept;
  void counts_in(frame&, completion*) noexcept;
  bool ends_at_once(const rma_op&, peer&, const status&) noexcept;
  void say_put(frame&, const rma_op&, const member* to, const member* word, const std::byte* source, bool detour) noexcept;
  void ring(peer&) noexcept;

  // one_sided.cpp
  // Whether (segment's member, bytes) goes by key: a word, which asks for a fabric that needs nobody, or a payload.
  bool by_key(const member* m, std::uint64_t bytes) const noexcept {
    return m && m->key && (alone_ || bytes > traits_.piece_bytes);
  }
  bool take_put_by_key(const rma_op&, peer&, const member* to, const member* word, const std::byte* source) noexcept;
  bool take_get_by_key(const rma_op&, peer&, const member& from) noexcept;
  void begun(frame&, reaching, const status& why) noexcept;
  reaching write(frame&, void* key, std::uint64_t offset, const std::byte* from, std::uint32_t bytes, status& why) noexcept;
  void set_word(frame&) noexcept;
  void start_flush(frame&) noexcept;
  bool placed(peer&, frame&) noexcept;             // false: push() will be called again
  void glance(peer&) noexcept;
  void answer_glance(peer&) noexcept;
  void unlink(frame&) noexcept;
  void forget_old_keys(peer&) noexcept;
  void forget_keys(peer&) noexcept;

  // message.cpp
  frame* new_frame(peer&, message_kind) noexcept;  // null: full
  frame* new_request(peer&, message_kind) noexcept;
  void finish(frame&, const status&) noexcept;
  void queue(frame&) noexcept;
  const std::byte* next_piece(peer&, frame&) noexcept;
  void pump(peer&) noexcept;                       // sends what can be sent
  void pump_stalled() noexcept;
  bool push(peer&) noexcept;
  void piece_sent(peer&) noexcept;

  // receive.cpp
  bool authentic(const message&, std::span<const std::byte> payload) const noexcept;
  void tell_of_outsiders(rank_t said) noexcept;
  void take(peer&, const message&, std::span<const std::byte> payload) noexcept;
  void serve(peer&, const message&, bool reachable) noexcept;
  void take_answer(peer&, const message&, std::span<const std::byte> payload) noexcept;
  void land(const rma_op&, std::uint64_t offset, std::span<const std::byte> payload) noexcept;

  // progress.cpp
  bool arm_all() noexcept;
  std::chrono::nanoseconds patience() const noexcept;
  void end_sleep() noexcept;                   // of this rank, which is armed

  std::unique_ptr<link> link_;
  one_sided* reach_ = nullptr;                // the link's, if it has that
  bool alone_ = false;                        // and it needs nobody at the target
  link_traits traits_;
  silence_watch silence_;
  liveness liveness_;                         // listens where the link does not tell losses
  std::optional<ip_multicast> ip_;            // none on a fabric of one host
  rank_t rank_ = 0;
  std::uint32_t size_ = 1;
  siphash_key key_{};            // of the job
  std::uint64_t rejected_ = 0;
  notice_fn notice_;             // of the first message without proof
  host_id host_{};
  sleeper sleep_;                // upon the link's descriptor, and the processes and liveness connections of peers

  shared_blobs addresses_;
  std::vector<std::unique_ptr<peer>> peers_;  // by rank; null until needed
  std::uint32_t peers_made_ = 0;
  std::vector<peer*> open_;                   // those with an endpoint, now or earlier
  std::vector<peer*> to_open_, to_close_, suspects_, stalled_;

  region_table regions_;
  segment_table<member> segments_;

  responder responder_{regions_};
  frame_pool frames_;
  member nobody_;

  // A peer that stores into my memory must know whether I sleep. Odd: asleep. Lives in memory that peers map or reach.
  std::uint64_t* doze_ = nullptr;
  std::uint64_t doze_alone_ = 0;
  region_id doze_region_ = unregistered_memory;      // that: nobody reaches it
  bool leaving_ = false;
  bool woken_ = false;                        // armed, but there was something to wake up for
  std::uint32_t turns_ = 0, submitted_ = 0;  // since the last look for deaths
  unsigned events_ = 0;
};

}  // namespace tutti::messages
