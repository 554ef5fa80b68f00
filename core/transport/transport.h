// The transport contract. This header is the specification: a provider implements what stands here, the engines rely on
// nothing else, and tests/conformance checks it clause by clause.
//
//  1. Naming.      A peer is a job rank, remote memory is (rank, segment, offset); addresses and endpoints never show.
//                  A rank may name itself: such an operation works as one towards any other rank.
//  2. Submission.  submit() takes a prefix of the operations and returns its length. A shorter prefix than was offered means
//                  that a queue of bounded size is full: call progress() and offer the rest again. An operation that was
//                  taken will complete, with success or an error; one that was not taken left no trace. There is no other
//                  back-pressure.
//  3. Completion.  A taken operation that names a completion counts in it until it is locally complete: a put's source
//                  may be reused, a get's or an atomic's result has landed. The completion keeps the first error among its
//                  operations. An operation that names no completion reports its error at the next flush() of that rank.
//  4. Visibility.  flush(rank) completes when all operations taken for that rank before the flush are visible there: to a
//                  load by that rank, and to any rank's get or atomic.
//  5. Signals.     A signal is one aligned 8-byte word of a segment, set or added to, seen whole. The signal of a
//                  put_signal is never visible before its payload. A signal with order `everything` is never visible
//                  before anything that was taken earlier for the same rank. Signals of one origin to one word take
//                  effect in the order in which they were submitted. A thread that reads a signalled word by an acquire load
//                  (std::atomic_ref) then sees the payload by plain loads. Nothing else is ordered.
//  6. Waiting.     Wait until the word has *reached* a value, compared as serial numbers (reached(), below): a fast
//                  peer may have written a later epoch already.
//  7. Atomics.     fetch_add, compare_swap and swap act on aligned 8-byte words, atomically towards all fabric atomics
//                  and added signals of any origin, and towards CPU atomics if caps().cpu_atomics_agree.
//  8. Progress.    Nothing happens by itself unless caps() says so: progress() drives this rank's own operations and,
//                  if caps().target_must_progress, those of its peers upon this rank. progress() never blocks. Connecting two
//                  ranks may need the progress of both: the first operation between them may wait for it. If
//                  caps().progress_thread, a thread makes all that progress while the rank makes no call.
//  9. Sleep.       arm() opens a sleep and gives the token that sleep() takes; arm_fd() opens one in wait_fd(). What arrives
//                  after arm() or arm_fd() ends that sleep(), or makes wait_fd() readable, so a caller looks at its words
//                  after arming and before sleeping. What arrives: signals, put_signals and atomics upon this rank's
//                  memory, multicast datagrams, two-sided messages, completions of its own operations, and the death of a peer
//                  that the fabric notices; and, if caps().target_must_progress, whatever of a peer waits for this rank's progress.
//                  Without that a plain put need not wake. Waking early is allowed. progress() and disarm() close an open
//                  sleep, whichever call opened it: a sleep() upon an earlier token ends at once.
// 10. Failure.     Every operation towards a dead or unreachable peer ends with peer_dead, and health(rank) returns
//                  peer_dead: within one second of the death, or within five seconds where a whole host falls silent and
//                  nobody is left to report it. Both hold also for a rank that does nothing but submit, and calls
//                  progress() only while it waits. A living peer that does not run for long is never taken for dead. Other
//                  ranks are unaffected. Where a connection broke and both ranks live, operations that named no completion
//                  may be lost. health() then fails at their origin until a flush() has reported the loss, and at their
//                  target from then on, because a wait there may be in vain.
// 11. Teardown.    Segments, regions and the transport may be dropped in any order and after any error. Dropping a region
//                  detaches the segments attached through it; operations in flight upon it complete, with whatever outcome.
//                  Destroying a transport tells peers that this rank has left: health() then gives peer_dead with
//                  native() == peer_left, so that an orderly leave can be told from a death.
// 12. Threads.     A transport and everything obtained from it belong to one thread at a time. No call blocks unless
//                  its comment says so.
// 13. Preconditions are the caller's duty: ranks are members of the segment, ranges lie inside it, words are aligned, and
//                  regions are alive. The C API and the checking decorator (core/transport/checked_transport.h) verify this.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
// bytes from such memory is copied before submit() returns.
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

// What registering memory costs (add(), add_unowned()): a call, and by the byte. 0 and 0: nothing worth mention.
struct registration_cost {
  double call_us = 0;
  double bytes_per_ns = 0;
  constexpr bool any() const noexcept { return call_us > 0 || bytes_per_ns > 0; }
};
// A prior for adapters, which keep pages: two system calls and their tables, and half a microsecond a page.
inline constexpr registration_cost registered_with_an_adapter{20, 8};

// Fixed once the transport is open. The engines choose algorithms by these.
struct capabilities {
  std::uint64_t max_bytes = 0;          // of one put or get; larger ones are the caller's to split
  std::uint32_t max_inline = 0;         // of a put whose source is unregistered memory
  std::uint32_t message_bytes = 0;      // a longer put goes as several messages of so many, each at the price of one; 0: none does
  std::uint32_t max_slices = 0;         // of a get_scatter; 0: the provider has none
  bool native_signal = false;           // signals that set words of allocate()d memory need no progress of the target
  bool native_atomics = false;          // likewise atomics, and signals that add
  bool native_when_added = false;       // native_signal and native_atomics hold upon memory given to add() as well
  bool maps_node = false;              // map() reaches memory that ranks of this node have from allocate()
  bool kernel_copies = false;           // ranks of this node reach what was given to add() by a copy of the kernel, without messages
  bool follows_mapping = false;         // a region from add() is whatever memory lies at its addresses: see add()
  bool cpu_atomics_agree = false;       // fabric atomics and CPU atomics upon one word are atomic to each other
  bool target_must_progress = false;    // true on tcp: a rank that computes for long stalls all puts and gets upon it
  bool progress_thread = false;         // TUTTI_PROGRESS=thread: a thread soon makes the progress that something waits for
  bool can_sleep = false;               // clause 9 holds; false: sleep() is a short nap
  bool virtual_clock = false;           // now() is simulated: a wait must sleep() at once, since spinning passes no time
  loggp cost;                           // a prior; measured values replace it
  std::optional<loggp> node_cost;       // the same inside a node; none: no other
  registration_cost registering;        // a prior, too; where it costs, what is registered already is faster to name than to find
};

// Counts operations in flight and keeps the first failure among them. One completion may serve many operations, and must
// outlive them. Not thread-safe (clause 12), except that operations may finish in a transport's own thread
// (progress_thread): begin() and finish() never run at the same time, but the owner may call idle() and outcome() at any time.
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

// One operation in one cache line: a larger one would cost more than the virtual call that takes it.
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

// The token of a sleep that arm() opened, for one call of sleep(). False: there is work already, so call progress() instead of
// sleeping. Destroying a token closes nothing: a token that outlived its sleep would close a later one.
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
class two_sided;  // core/transport/two_sided.h

class transport {
 public:
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;

  virtual const capabilities& caps() const noexcept = 0;
  // Optional interfaces, in headers of their own; null: this transport has none.
  virtual multicast* mcast() noexcept { return nullptr; }
  virtual offload* offloader() noexcept { return nullptr; }
  virtual two_sided* sendrecv() noexcept { return nullptr; }

  // --- set-up: may allocate and take microseconds to milliseconds ------------------------------------------------
  // Core moves addresses and keys between ranks; a provider never uses the bootstrap.
  virtual result<std::vector<std::byte>> address() = 0;
  // The addresses of all, by job rank. Opens no connection: the first operation towards a peer does.
  virtual status connect(shared_blobs addresses, time_point deadline) = 0;
  // After connect: whether operations to this rank can work at all (shared memory: is it on this node?).
  virtual bool reaches(rank_t) const noexcept = 0;
  // After connect: caps().native_when_added towards this rank alone. (Of a transport that is made of several, caps() says what
  // holds towards all ranks.)
  virtual bool native_towards(rank_t) const noexcept { return caps().native_when_added; }

  // Registers memory that the caller owns and keeps alive until drop(). At least one byte. Where the fabric keeps the pages that
  // it found (an adapter does), it goes on with these whatever becomes of the addresses. If caps().follows_mapping, each operation
  // looks the addresses up anew: the caller may unmap the memory of a region and map other memory there, and the region is that
  // one, as target and as source, as long as no operation touches addresses at which nothing is mapped.
  virtual result<region_id> add(std::span<std::byte> memory) = 0;
  // The same for memory that the caller may lose before drop(), as who keeps registrations of other people's memory does: from the
  // moment when it is unmapped, no operation may name the region (unless caps().follows_mapping). So no operation upon
  // unregistered memory goes by this region, though its address lie there: after another mmap() it would reach the old pages.
  virtual result<region_id> add_unowned(std::span<std::byte> memory) { return add(memory); }
  // Allocates memory where the fabric reaches it best, zeroed, aligned to 64 bytes or more; drop() frees it.
  virtual result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) = 0;
  virtual result<std::vector<std::byte>> key(region_id) = 0;
  // Names the regions of a group as one segment. `keys` are in the group's order; an empty key: that member exposes nothing.
  // Not collective: each rank attaches by itself once it has the keys. Attaching the same keys again is allowed.
  virtual result<segment_id> attach(const rank_map& members, shared_blobs keys) = 0;
  virtual void drop(segment_id) noexcept = 0;
  virtual void drop(region_id) noexcept = 0;  // blocks, for seconds at most, until no library reads the region for puts under way
  // Between at_rest(true) and at_rest(false) the caller drops regions that no operation of anyone's names any more, as all who had
  // their keys have agreed: so a provider whose library would go on with such an operation may give their addresses back at once.
  virtual void at_rest(bool) noexcept {}
  // The address at which loads and stores of this process reach that member's region, or null. What a member has from
  // allocate() stays mapped until this rank drops the segment, even where the member has dropped it, left or died. Signals and
  // atomics upon mapped words go through submit() all the same, since a bare store wakes nobody.
  virtual std::byte* map(segment_id, rank_t) noexcept { return nullptr; }

  // --- data path: allocates nothing in the steady state ----------------------------------------------------------
  [[nodiscard]] virtual std::size_t submit(std::span<const rma_op> ops) noexcept = 0;      // clause 2
  // Begins `done`, and finishes it when clause 4 holds for `peer`, or for all peers if no_rank. False: full (clause 2).
  [[nodiscard]] virtual bool flush(rank_t peer, completion* done) noexcept = 0;
  virtual unsigned progress() noexcept = 0;                                                // events handled; clause 8

  // --- waiting: clause 9 -----------------------------------------------------------------------------------------
  virtual armed arm() noexcept = 0;
  // Blocks until something has arrived since arm(), or until the deadline. Returns at once if the token is false or its sleep
  // was closed.
  virtual void sleep(armed, time_point deadline) noexcept = 0;
  // As arm(), for a wait upon wait_fd().
  [[nodiscard]] virtual bool arm_fd() noexcept { return false; }
  // A descriptor that is readable when something has arrived since arm_fd(); -1: this provider has none. Never read from it.
  virtual int wait_fd() noexcept { return -1; }
  // Closes a sleep that is not needed after all. Cheap.
  virtual void disarm() noexcept {}

  virtual time_point now() const noexcept = 0;  // virtual on a simulated fabric
  // Success, peer_dead (with how it ended, as far as known), or no_resource (this process lacks something). Costs a system
  // call: ask when a wait has lasted long.
  virtual status health(rank_t peer) noexcept = 0;

 protected:
  transport() = default;
  static armed armed_if(bool open) noexcept { return armed{open}; }
};

}  // namespace tutti
