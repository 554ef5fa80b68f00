// The transport contract. This header is the specification: a provider implements what stands here, the engines rely
// on nothing else, and tests/conformance holds one file for each numbered clause.
//
//  1. Naming.      A peer is a job rank, remote memory is (rank, segment, offset); addresses and endpoints never show.
//                  A rank may name itself: the operation then works as it does towards any other rank.
//  2. Submission.  submit() takes a prefix of the operations and returns its length. Short means that a queue of
//                  bounded size is full: call progress(), offer the rest again. What was taken will complete, with
//                  success or an error; what was not taken left no trace. There is no other back-pressure.
//  3. Completion.  A taken operation that names a completion counts in it until it is locally complete: a put's source
//                  may be reused, a get's or an atomic's result has landed. The first error among the operations is
//                  kept. An operation that names none reports its error at the next flush() of that rank.
//  4. Visibility.  flush(rank) completes when everything taken for that rank before it is visible there: to a load by
//                  that rank, and to any rank's get or atomic.
//  5. Signals.     A signal is one aligned 8-byte word of a segment, set or added to, seen whole. The signal of a
//                  put_signal is never visible before its payload. A signal with order `everything` is never visible
//                  before anything that was taken earlier for the same rank. Signals of one origin to one word take
//                  effect in the order in which they were submitted. Whoever reads a signalled word by an acquire load
//                  (std::atomic_ref) then sees the payload by plain loads. Nothing else is ordered.
//  6. Waiting.     Wait until the word has *reached* a value, compared as serial numbers (reached(), below): a fast
//                  peer may have written a later epoch already.
//  7. Atomics.     fetch_add, compare_swap and swap act on aligned 8-byte words, atomically towards all fabric atomics
//                  and added signals of any origin, and towards CPU atomics if caps().cpu_atomics_agree.
//  8. Progress.    Nothing happens by itself unless caps() says so: progress() drives this rank's own operations and,
//                  if caps().target_must_progress, those of its peers upon it. It never blocks. To make the connection
//                  of two ranks may need the progress of both: the first operation between them may wait for it.
//                  If caps().progress_thread, a thread gives all that progress while the rank makes no call.
//  9. Sleep.       arm() opens a sleep and gives the token that sleep() takes; arm_fd() opens one in wait_fd(). Whatever
//                  arrives after the call ends that sleep(), or makes wait_fd() readable: look at your words between
//                  the two. What arrives: signals, put_signals and atomics upon this rank's memory, multicast datagrams,
//                  completions of its own operations, and the death of a peer that the fabric notices; and, if
//                  caps().target_must_progress, whatever of a peer waits for this rank's progress. Else a plain put need
//                  not wake. Waking early is allowed. progress() and disarm() close what is open, whichever call opened
//                  it: a sleep() upon a token of before ends at once.
// 10. Failure.     A dead or unreachable peer ends every operation towards it with peer_dead, and health(rank) tells so
//                  within one second of the death on a live fabric, and within five seconds where a whole host falls
//                  silent, so that nobody is left to say it. Both hold for a rank that does nothing but submit, and
//                  calls progress() only while it waits. A peer that lives, and only does not run for long, is never
//                  taken for dead. Other ranks are unaffected. Where a connection broke and both ranks live, operations
//                  that named no completion may be lost: health() tells it to their origin, until a flush() has, and to
//                  their target from then on, for what waits there may wait in vain.
// 11. Teardown.    Segments, regions and the transport may be dropped in any order and after any error. Dropping a
//                  region detaches what was attached through it; operations still in flight upon it complete somehow.
//                  Destroying a transport tells peers that this rank has left: health() then gives peer_dead with
//                  native() == peer_left, so that an orderly leave can be told from a death.
// 12. Threads.     A transport and everything obtained from it belong to one thread at a time. No call blocks unless
//                  its comment says so.
// 13. Preconditions are the caller's: ranks are members of the segment, ranges lie inside it, words are aligned, and
//                  regions are alive. The C API and the checking decorator (core/transport/checked_transport.h) verify them.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/blob_table.h"
#include "core/base/rank_map.h"
#include "core/base/status.h"
#include "core/base/time_point.h"

namespace tutti {

enum class region_id : std::uint32_t {};   // memory of mine that operations may touch
enum class segment_id : std::uint32_t {};  // one region of each member of a group; named by (rank, offset)

inline constexpr std::int64_t peer_left = -1;  // status::native() of an orderly leave (clause 11)

// As `local` of an operation: local_offset is then a plain address, of any memory of this process. A put of up to max_inline
// bytes from there is copied before submit() returns.
inline constexpr region_id unregistered_memory{~std::uint32_t{0}};

// Serial-number comparison (RFC 1982 at 64 bits): true when `word` is `target` or came after it, within 2^63 steps.
// Correct through a wrap of the epoch counter.
constexpr bool reached(std::uint64_t word, std::uint64_t target) noexcept {
  return static_cast<std::int64_t>(word - target) >= 0;
}

// Cost of one message, LogGP (Alexandrov et al. 1995). Microseconds and bytes per nanosecond.
struct loggp {
  double latency_us = 0;   // L: wire and peer's adapter
  double overhead_us = 0;  // o: the CPU's share at either end
  double gap_us = 0;       // g: least time between two messages of one rank
  double bytes_per_ns = 0; // 1/G
};

// Fixed once open. The engines choose algorithms from it.
struct capabilities {
  std::uint64_t max_bytes = 0;          // of one put or get; larger ones are the caller's to split
  std::uint32_t max_inline = 0;         // of a put whose source is unregistered memory
  std::uint32_t max_slices = 0;         // of a get_scatter; 0: the provider has none
  bool native_signal = false;           // signals that set, upon memory from allocate(); false: the target's progress
  bool native_atomics = false;          // likewise atomics, and signals that add
  bool native_when_added = false;       // what the two say holds upon memory given to add() as well
  bool maps_mates = false;              // map() reaches what the ranks of this node have from allocate()
  bool cpu_atomics_agree = false;       // fabric atomics and CPU atomics upon one word are atomic to each other
  bool target_must_progress = false;    // true on tcp: a rank that computes for long stalls all puts and gets upon it
  bool progress_thread = false;         // TUTTI_PROGRESS=thread: whatever waits for progress has it, soon, without a call
  bool can_sleep = false;               // clause 9 holds; false: sleep() is a short nap
  bool virtual_clock = false;           // now() is simulated: waiting must sleep() at once, spinning would be in vain
  loggp cost;                           // a prior; measured values replace it
  loggp node_cost;                      // the same inside a node; all 0: no other
};

// Operations in flight and the first failure among them. One completion may serve many operations. It must outlive
// them. Not thread-safe (clause 12), except that operations may finish in a transport's own thread (progress_thread):
// begin() and finish() are never called at once, but the owner asks idle() and outcome() at any time.
class completion {
 public:
  bool idle() const noexcept { return pending() == 0; }
  std::uint32_t pending() const noexcept { return std::atomic_ref{pending_}.load(std::memory_order_acquire); }
  const status& outcome() const noexcept { return std::atomic_ref{failed_}.load(std::memory_order_acquire) ? first_ : none_; }
  void clear() noexcept { failed_ = false, first_ = {}; }  // forget the error; only when idle
  void begin() noexcept { count(pending_ + 1); }           // providers only
  void finish() noexcept { count(pending_ - 1); }          // providers only
  void finish(const status& s) noexcept {                  // providers only
    if (s.failed() && !failed_) {
      first_ = s;
      std::atomic_ref{failed_}.store(true, std::memory_order_release);
    }
    finish();
  }

 private:
  void count(std::uint32_t n) noexcept { std::atomic_ref{pending_}.store(n, std::memory_order_release); }

  mutable std::uint32_t pending_ = 0;
  mutable bool failed_ = false;
  status first_, none_;  // the first is fixed once failed_ is set
};

enum class op_kind : std::uint8_t { put, get, get_scatter, signal, put_signal, fetch_add, compare_swap, swap };
enum class signal_how : std::uint8_t { set, add };
enum class not_before : std::uint8_t { payload, everything };  // what a signal may not overtake

struct slice {
  region_id local;
  std::uint32_t bytes;
  std::uint64_t local_offset;
};

// One operation in one cache line: a fatter one would cost more than the virtual call that takes it.
struct rma_op {
  op_kind kind;
  signal_how how = signal_how::set;
  not_before order = not_before::payload;
  std::uint8_t slices = 0;                          // get_scatter: how many, at most caps().max_slices
  rank_t rank = 0;                                  // the peer, by job rank
  region_id local = unregistered_memory;
  segment_id remote{};                              // put, get, atomics
  union {
    std::uint64_t local_offset = 0;                 // put: source; get: target; atomics: where the old value goes
    const slice* scatter;                           // get_scatter: must live until done
  };
  std::uint64_t remote_offset = 0;                  // atomics: 8-byte aligned
  std::uint32_t bytes = 0;                          // put, get; 0 is allowed and moves nothing
  segment_id signal{};                              // signal, put_signal: the segment that holds the word
  union {
    std::uint64_t signal_offset = 0;                // signal, put_signal: 8-byte aligned
    std::uint64_t expected;                         // compare_swap
  };
  std::uint64_t operand = 0;                        // value set or added; compare_swap, swap: the new value
  completion* done = nullptr;                       // local completion, may be null
};
static_assert(sizeof(rma_op) == 64);

// A sleep that arm() opened, for one sleep(). False: there is work already, so call progress() instead of sleeping. It closes
// nothing by itself: one that outlives its sleep would close a later one.
class [[nodiscard]] armed {
 public:
  armed(armed&& o) noexcept : open_(std::exchange(o.open_, false)) {}
  armed& operator=(armed&& o) noexcept { open_ = std::exchange(o.open_, false); return *this; }
  explicit operator bool() const noexcept { return open_; }

 private:
  friend class transport;
  explicit armed(bool open) noexcept : open_(open) {}
  bool open_;
};

class multicast;  // core/transport/multicast.h
class offload;    // core/transport/offload.h

class transport {
 public:
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  virtual const capabilities& caps() const noexcept = 0;
  // Optional interfaces, a header each; null: this transport has none.
  virtual multicast* mcast() noexcept { return nullptr; }
  virtual offload* offloader() noexcept { return nullptr; }

  // --- set-up: may allocate and take microseconds to milliseconds ------------------------------------------------
  // Core moves the blobs between ranks; a provider never meets the bootstrap.
  virtual result<std::vector<std::byte>> address() = 0;
  // Everyone's address, by job rank. Opens no connection: those come with the first operation to a peer.
  virtual status connect(shared_blobs addresses, time_point deadline) = 0;
  // After connect: whether operations to this rank can work at all (shared memory: is it on this node?).
  virtual bool reaches(rank_t) const noexcept = 0;
  // After connect: caps().native_when_added towards this rank alone. caps() of a transport made of several tells what holds
  // towards all.
  virtual bool native_towards(rank_t) const noexcept { return caps().native_when_added; }

  // Expose memory that the caller owns and keeps alive until drop(). bytes > 0.
  virtual result<region_id> add(std::span<std::byte> memory) = 0;
  // Memory from where the fabric likes it best, zeroed, at least 64-byte aligned; freed by drop().
  virtual result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) = 0;
  virtual result<std::vector<std::byte>> key(region_id) = 0;
  // Name the regions of a group as one segment. `keys` in the group's order; an empty key: that member exposes none.
  // Not collective: each rank attaches by itself once it has the keys. Attaching the same keys again is allowed.
  virtual result<segment_id> attach(const rank_map& members, shared_blobs keys) = 0;
  virtual void drop(segment_id) noexcept = 0;
  virtual void drop(region_id) noexcept = 0;  // waits, seconds at most, until no library reads it for puts under way
  // Where loads and stores of this process reach that member's region, or null. Signals and atomics upon mapped words
  // go through submit() all the same: a bare store wakes nobody.
  virtual std::byte* map(segment_id, rank_t) noexcept { return nullptr; }

  // --- data path: allocates nothing in the steady state ----------------------------------------------------------
  [[nodiscard]] virtual std::size_t submit(std::span<const rma_op> ops) noexcept = 0;      // clause 2
  // Begins `done` and finishes it when clause 4 holds for `peer`, or for all peers if no_rank. False: full, as 2.
  [[nodiscard]] virtual bool flush(rank_t peer, completion* done) noexcept = 0;
  virtual unsigned progress() noexcept = 0;                                                // events handled; clause 8

  // --- waiting: clause 9 -----------------------------------------------------------------------------------------
  virtual armed arm() noexcept = 0;
  // Blocks until something arrived since arm(), or until the deadline. Returns at once if the token is false or its sleep closed.
  virtual void sleep(armed, time_point deadline) noexcept = 0;
  // As arm(), for a wait on wait_fd().
  [[nodiscard]] virtual bool arm_fd() noexcept { return false; }
  // Readable when something arrived since arm_fd(). -1: this provider has none. Never read from it.
  virtual int wait_fd() noexcept { return -1; }
  // Close a sleep that is not needed after all. Cheap.
  virtual void disarm() noexcept {}

  virtual time_point now() const noexcept = 0;  // virtual on a simulated fabric
  // Success; peer_dead, how as far as known; no_resource, a want of this process. A system call: ask when a wait has lasted long.
  virtual status health(rank_t peer) noexcept = 0;

 protected:
  transport() = default;
  static armed armed_if(bool open) noexcept { return armed{open}; }
};

}  // namespace tutti
