// The transport contract upon raw verbs: one RC queue pair for each pair of ranks that talk, opened by the first
// operation (connection_manager.h), and UD multicast (multicast.h). The design is that of Kini 2003, section 5, widened.
//
// What a rank holds, with P peers that it has talked to, or they to it (itself counts, if it talked to itself), of n ranks,
// R regions, S segments of m members and G multicast groups; an adapter with lower limits gives less. tests/verbs counts it.
//   queue pairs   P (RC) + 1 (UD, the connection manager's) + G (UD)
//   requests      128 P + 64 + 16 G that may be under way; 1024 + 256 + 128 G receives; 8000 entries of completion queues
//   registered    the regions + 36 KiB + 581 KiB G; 512 KiB of buffers once unregistered memory needs one, and what up to 64
//                 larger operations upon unregistered memory move while they are under way (bounce_buffers.h). Registered memory is
//                 locked: memlock must allow for that and, with what the adapter's driver keeps for each queue, about a
//                 MiB besides
//   memory        P * (128 * (24 + the adapter's size of a request: some 600 bytes) + 500) bytes, and 10 KiB more for each
//                 peer that is being connected; 16 n + 32 S m + 48 R bytes; and half a MiB, upon what is registered
//   one thread, asleep (connection_manager.h), and 10 descriptors + 1 for each peer on the same host + G, and 1 for each peer that is
//                 being met and has not answered for a tenth of a second (connection_calls.cpp)
// So a barrier by dissemination costs each of 16 ranks 7 queue pairs: those 1, 2, 4 and 8 further and before, where 8 further
// is 8 before.
//
// Way of an operation. submit() turns it into one to three work requests on its peer's queue pair: the payload, the
// signal behind it, and a bell where a signal or atomic cannot bring one itself. It is done when the last of them is,
// except that a put of up to max_inline bytes is copied into the request and is done at once; should it fail later, the
// next flush of that peer tells. Small puts and signals therefore need no completion entry but one in 32
// (send_queue.h). Local memory that no region is named for: bounce_buffers.h.
//
// Order (clause 5). An RC queue pair executes its requests at the target in the order in which they were posted, so a
// signal is simply an 8-byte RDMA write behind the payload, an added one an atomic; both orders of the contract are
// kept alike. Three things remain.
// - An adapter hands what it writes to PCIe, which keeps posted writes in order unless they bear the mark of relaxed
//   ordering. Regions do not, by default. With `relaxed` payloads do and words do not, and a write without the mark
//   passes none that was before it, marked or not (PCIe 2.4.1): see memory.cpp.
// - A read may be executed again if its answer was lost, and then sees later writes. A signal that must be behind
//   everything is therefore fenced if a read is in flight: it waits for the answer.
// - A swap, which verbs do not have, is a compare_swap tried until it succeeds; while one is under way, signals that
//   must be behind everything, and flushes, are refused (clause 2: full).
//
// Flush (clause 4). That a write was acknowledged says that it is in the target's adapter, not that the target's CPU
// sees it. A read of 8 bytes behind it says that: the adapter fetches them from memory, and a read on PCIe pushes what
// was posted before it.
//
// Sleep (clause 9). A plain RDMA write wakes nobody, and to have all signals wake would take a receive from the target
// for each, needed or not. So signals are plain until a rank sleeps for the first time. It then tells its peers
// (ring_kind::announce), who from then on write signals to it with an immediate, which makes an entry in the completion
// queue that it waits for; and atomics, which have none, with an empty write behind them. The gap is signals that were
// posted before the peer heard and are executed after the sleeper has looked: the peer answers with `confirm`, on the
// same queue pair, hence behind them; until all have answered no sleep is longer than a nap. Ranks that never sleep
// never pay.
//
// Errors. A request that fails puts its queue pair in error, and those behind it are flushed. The failed one is ended
// with its own error, the flushed ones with broken_connection(), and the connection is made anew by the next
// operation, unless the peer is dead. Retries are finite, see death.h.
//
// Atomics are those of the adapter. Most make them atomic towards each other only (IBV_ATOMIC_HCA), not towards the
// CPU: then cpu_atomics_agree is false. An adapter orders its atomics with those that other queue pairs of it execute,
// so a rank's own atomics upon its own memory go through the adapter too, by a queue pair connected to itself.
#pragma once
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "core/transport/multicast.h"
#include "core/transport/provider.h"
#include "core/transport/transport.h"
#include "providers/common/peer_life.h"
#include "providers/common/segment_table.h"
#include "providers/common/sleeper.h"
#include "providers/verbs/bounce_buffers.h"
#include "providers/verbs/device.h"
#include "providers/verbs/connection_manager.h"
#include "providers/verbs/multicast.h"
#include "providers/verbs/receiver.h"
#include "providers/verbs/regions.h"
#include "providers/verbs/send_queue.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {

inline constexpr std::uint32_t queue_depth = 128;     // work requests in flight to one peer
inline constexpr std::uint32_t total_depth = 4096;    // and to all
inline constexpr std::uint32_t requested_inline = 256, most_slices = 30;
inline constexpr std::uint32_t kept_for_rings = 3;    // of these: announce, confirm, bye, each at most once under way
inline constexpr std::uint32_t most_swaps = 256;      // under way
static_assert(most_slices <= bounce_count, "a get into as many pieces of unregistered memory as it may name");

// The name of a send queue: its peer's place among those with one, and, above, how often it was opened.
inline constexpr unsigned line_bits = 22;
inline constexpr std::uint32_t line_mask = (1u << line_bits) - 1, no_line = ~0u;

// Operations that were taken before there was a queue pair for them. They keep their order: as long as one waits, all wait.
struct backlog {
  static constexpr std::uint32_t most = 16;
  std::array<rma_op, most> ops;
  std::array<std::array<std::byte, requested_inline>, most> copies;  // of unregistered memory
  std::uint32_t first = 0, count = 0;
};

struct peer {
  rank_t rank = no_rank;
  peer_life life;
  bool alive() const noexcept { return life.alive(); }
  status unreported;            // clause 3: the first error that no completion took
  status lost;                  // clause 10: of its operations upon me
  send_queue out;
  bool ready = false;           // confirmed, not failing and nothing waits: operations may be posted
  bool confirmed = false;       // out is open, and what is sent arrives at once
  bool failing = false;         // out is in error: only the rest of its completions is awaited
  bool losing = false;          // some of that had none that took the error
  std::unique_ptr<backlog> waiting;  // operations taken while it was being connected
  status failure;               // what those in flight end with when they are flushed
  status unexplained;                 // the first error, while it is open whether a port of mine is its cause
  time_point ask_port_at{};     // while unexplained
  bool rings = false;           // signals to it must ring
  bool told = false, sure = false;  // it knows that mine must; and has confirmed
  bool probing = false;         // a probe is under way
  bool goodbye = false;         // was said
  bool confirm_owed = false;    // it is to be told that signals to it ring
  std::uint32_t swaps = 0;      // under way
  std::uint32_t flushes = 0;    // under way
  std::uint32_t flushed = 0;    // out.head() behind the last of them
  std::uint32_t line = no_line; // its place in lines_
  std::uint32_t opened = 0;     // how often out was
  time_point quiet_since{};     // the last completion
  time_point drain_until{};     // while failing
};

// A member's part of a segment.
struct target {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;      // 0: it exposes nothing
  std::uint32_t rkey = 0, word_rkey = 0;
  std::uint32_t region = 0;
};

// An operation that is repeated until it succeeds: see swap.cpp.
struct swapping {
  peer* to = nullptr;           // null: free
  completion* done = nullptr;
  std::byte* result = nullptr;  // where the adapter puts the old value
  std::uint64_t address = 0, operand = 0, guess = 0;
  std::uint32_t rkey = 0, lkey = 0;
  posted holds{};               // the region or bounce buffer that `result` is in
  bool waits = false;           // for room
  std::uint16_t next_free = 0;
};


class verbs_transport final : public transport {
 public:
  static result<std::unique_ptr<transport>> open(const open_params&);
  ~verbs_transport() override;

  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override { return multicast_.get(); }
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

 private:
  verbs_transport() = default;
  status start(const open_params&);
  status open_waiting();
  status try_limits();
  address_blob own_address() const noexcept;
  address_blob address_of(rank_t) const noexcept;

  // memory.cpp
  const target* target_of(segment_id id, rank_t rank) noexcept {  // null: nothing is exposed there
    const target* t = segments_.find(id, rank);
    return t && t->bytes ? t : nullptr;
  }

  // submit.cpp: one operation; false: full
  bool take(const rma_op&) noexcept;
  bool start(const rma_op&, peer&) noexcept;
  bool take_put(const rma_op&, peer&) noexcept;
  bool take_get(const rma_op&, peer&) noexcept;
  bool take_atomic(const rma_op&, peer&) noexcept;
  bool ends_at_once(const rma_op&, peer&, const status&) noexcept;
  bool has_room(const peer&, std::uint32_t requests) const noexcept;
  void post(peer&, std::span<ibv_send_wr>, std::span<const posted>) noexcept;
  void use(const posted&, int how) noexcept;
  bool ends_or_waits(const rma_op&, peer&, std::uint16_t buffers, status why) noexcept;  // for lack of registered memory

  // backlog.cpp
  bool put_by(const rma_op&, peer&) noexcept;     // false: full
  void pump(peer&) noexcept;
  void end_backlog(peer&, const status&) noexcept;
  void look_again(peer&) noexcept;                // sets peer::ready

  // swap.cpp
  bool take_swap(const rma_op&, peer&, const target&) noexcept;
  void try_swap(swapping&) noexcept;
  void swap_tried(swapping&, const status&) noexcept;
  void end_swap(swapping&, const status&, bool took_effect = false) noexcept;
  void retry_swaps() noexcept;

  // progress.cpp
  unsigned poll_sends() noexcept;
  void completed(const ibv_wc&) noexcept;
  void finish(peer&, const posted&, const status&) noexcept;  // of a record
  void ended(peer&, const posted&, const status&) noexcept;
  void tell(peer&, completion*, const status& outcome) noexcept;  // no completion: errors to the peer's next flush
  void post_flush(peer&, completion*) noexcept;

  // peers.cpp
  peer* peer_of(rank_t) noexcept;                 // null: no memory
  unsigned handle_events() noexcept;
  unsigned hear_rings() noexcept;
  void adopt(peer&, const connection_manager::event&) noexcept;
  bool post_ring(peer&, ring_kind) noexcept;      // false: full
  void confirm(peer&) noexcept;
  void fail(peer&, status why) noexcept;          // its queue pair is in error
  void fail(peer&, const connection_manager::event&, const char* why) noexcept;
  void end_peer(peer&, status how, told_by = told_by::connection) noexcept;  // the peer has ended
  void close_drained() noexcept;
  void await_explanation(peer&, status first) noexcept;
  void decide(peer&) noexcept;
  void give_up(peer&) noexcept;                   // on completions that have not come
  void ask_anew(peer&) noexcept;                  // for a connection, if operations wait for one
  void probe(peer&) noexcept;
  bool elsewhere(rank_t) const noexcept;          // on another host
  // For a sentence on its death: my device's trouble, if any, or the ranks of its host.
  std::string perhaps_since(rank_t, const std::string& trouble) const;

  // sleep.cpp
  bool arm_all() noexcept;
  std::chrono::nanoseconds patience() noexcept;
  void announce() noexcept;

  // leave.cpp
  void say_goodbye() noexcept;

  struct pd_closer { void operator()(ibv_pd* p) const noexcept { ibv_dealloc_pd(p); } };
  struct cq_closer { void operator()(ibv_cq* c) const noexcept { ibv_destroy_cq(c); } };
  struct channel_closer { void operator()(ibv_comp_channel* c) const noexcept { ibv_destroy_comp_channel(c); } };

  adapter device_;
  std::unique_ptr<ibv_pd, pd_closer> pd_;
  std::unique_ptr<ibv_comp_channel, channel_closer> channel_;
  std::unique_ptr<ibv_cq, cq_closer> sends_;      // of all RC queue pairs
  receiver in_;
  connection_manager manager_;
  std::unique_ptr<verbs_multicast> multicast_;    // null: this adapter has none, or some rank's
  capabilities caps_;
  link_limits limits_;
  rank_t rank_ = 0;
  std::uint32_t size_ = 1;
  host_id host_{};

  shared_blobs addresses_;
  std::vector<std::unique_ptr<peer>> peers_;      // by rank; null until needed
  std::vector<peer*> lines_;                      // those with a queue pair, now or earlier
  std::uint32_t peers_elsewhere_ = 0;             // of these, on other hosts
  std::uint32_t in_flight_ = 0;                   // work requests, to all
  std::uint32_t swaps_waiting_ = 0;               // for room
  std::uint32_t draining_ = 0;                    // peers whose queue pair is in error
  std::uint32_t confirms_owed_ = 0;
  std::uint32_t waiting_ = 0;                     // peers with a backlog

  region_table regions_;
  segment_table<target> segments_;
  bounce_buffers bounce_;
  region scratch_;                                // [0] read by peers' flushes, [8] lands of mine, [16] of added signals
  std::unique_ptr<swapping[]> swaps_;
  std::uint16_t free_swap_ = 0;

  std::string device_gone_;                       // why nobody can be reached any more
  std::vector<connection_manager::event> events_;
  std::vector<receiver::item> rings_;

  sleeper sleep_;                                 // upon the channel and the connection manager's notifications
  unique_fd notify_;
  bool sleeps_ = false;
  bool sends_armed_ = false, receives_armed_ = false, multicast_armed_ = false;
  std::uint32_t unsure_ = 0;                      // peers that were told and have not confirmed
  std::uint32_t untold_ = 0;
  std::chrono::nanoseconds nap_{};
};

}  // namespace tutti::verbs
