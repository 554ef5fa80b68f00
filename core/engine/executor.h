// Runs schedules. bind() turns a schedule into a program for one team: operations prepared down to ranks, segments and
// offsets, so that a run only patches values and submits. A run is a position in the program; advance() goes as far as
// it can without blocking and allocates nothing.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/shared_writer.h"
#include "core/engine/reliable_multicast.h"
#include "core/job/attachment_cache.h"
#include "core/job/team.h"
#include "core/schedule/schedule.h"
#include "core/transport/facts.h"

namespace tutti {

// One buffer of a collective: this rank's memory and, if peers reach theirs, the segment in which they expose it.
struct buffer {
  std::byte* base = nullptr;
  region_id local = unregistered_memory;
  segment_id segment{};
  std::uint64_t at = 0;          // offset of the buffer in its region and in everyone's segment
  std::uint64_t slot_bytes = 0;  // from one slot to the next
};

// to = from op to, or to = to op from, element by element.
struct reducer {
  void (*apply)(const void* context, const std::byte* from, std::byte* to, std::size_t bytes, bool from_is_left) = nullptr;
  const void* context = nullptr;
};

// What a run moves, and how.
struct run_data {
  partition in, out;                         // of buffer 0's blocks, and of all others'
  reducer arithmetic;
  bool signals_all = false;                  // also about blocks that are empty
  std::uint64_t words_at = 0;                // bytes from where the program's words are bound to those of this run
  // Where members make unlike numbers of runs with each other: by team index, the value of the words about what goes to it and
  // about what comes from it, which both count alike. null: the epoch.
  const std::uint64_t *sends = nullptr, *takes = nullptr;
  struct {                                   // sets of words and of slots that take turns by these numbers, `bytes` apart
    std::uint64_t count = 1, words_bytes = 0, slots_bytes = 0;
  } sets{};
  struct {                                   // the memory that `expose` tells peers of, as its registration has it
    std::span<const std::byte> key;
    std::uint64_t offset = 0;                // in the region, of the buffer's first byte
  } mine{};
};

// What `expose` puts into a peer's slot.
struct exposure_record {
  std::uint64_t offset = 0;                  // of the block in the region
  std::uint32_t key_bytes = 0, reserved = 0;
  std::byte key[longest_key]{};
};
static_assert(sizeof(exposure_record) == 256);

class program {
 public:
  // `words`: where the schedule's words lie, lines() of them. `mc` may be null if the schedule does not use multicast. Errors:
  // unsupported, a step this executor has no means for.
  static result<program> bind(const schedule&, team&, const control_lines& words, reliable_multicast* mc,
                              std::span<const buffer> buffers = {});
  // Lines of control segment that a bound schedule needs: its words, and one where an `arrive` lands its count.
  static std::uint32_t lines(std::uint32_t words) noexcept { return words + 1; }
  std::size_t bytes() const noexcept;  // of memory, for those who count
  // Another place for a buffer, at a time when no run of this program is under way. Of exposed ones all members move theirs alike.
  void move(std::uint32_t index, std::byte* base, std::uint64_t at = 0) noexcept { buffers_[index].base = base, buffers_[index].at = at; }
  void move_slots(std::uint32_t index, std::byte* base, std::uint64_t at, std::uint64_t slot_bytes) noexcept {
    move(index, base, at), buffers_[index].slot_bytes = slot_bytes;
  }
  // The buffer that this rank exposes to peers; no_block: none.
  std::uint32_t exposed() const noexcept { return exposed_; }
  // Maps what the program will reach, where the fabric maps at all, so that no run pays for a first use: a rank may be
  // the last to arrive at a counter, and so the one to signal everybody, for the first time after a million epochs.
  void touch() noexcept;

 private:
  friend class run;
  enum class kind : std::uint8_t { send, wait, arrive, multicast, await_multicast, fetch, copy, reduce_left, reduce_right, complete };
  struct instruction {
    kind what;
    bool outgoing = false;                 // its operations are those of buffer 0
    bool one_way = false;                  // left out, too, where the other buffer's blocks are not empty
    // send: operations, all about the same blocks; arrive: its operation, instructions to skip; copy, reduce: its move; fetch: its fetch
    std::uint32_t first = 0, count = 0;
    std::uint32_t peer = any_peer;         // team index, for those who ask what is waited for
    std::uint32_t block = no_block;        // left out where these are empty
    std::uint32_t blocks = 0;
    std::uint32_t word = 0;                // wait, arrive: from words_, in bytes
    std::uint32_t multiple = 1;
  };
  static_assert(sizeof(instruction) == 32);  // a rank that waits for one of many finds it, and the next, in one line of a cache
  struct move_places {
    place from, to;                        // of an operation, here and there
    std::uint32_t peer = any_peer;         // team index
    std::byte* mapped = nullptr;           // of a local move: what `at` of buffer `from` counts from, if that is a peer's
    std::uint32_t record = 0;              // of an operation that exposes: its record, from 1 on
  };
  struct fetch_places {
    place from, to;
    attachment_cache::use use;             // while a run has it
  };
  std::vector<instruction> code_;
  std::byte* words_ = nullptr;
  std::vector<rma_op> ops_;
  std::vector<std::uint64_t> multiples_;   // of ops_, operand = epoch * multiple; 0: the operand stands. Empty: all are 1
  std::vector<std::uint64_t> signals_at_;  // of ops_, if any of them is about data
  std::vector<move_places> moves_;         // the same
  std::vector<move_places> local_moves_;
  std::vector<exposure_record> records_;   // that stay until the operations are complete
  std::vector<fetch_places> fetches_;
  std::uint32_t exposed_ = no_block;       // the buffer
  std::vector<buffer> buffers_;
  shared_writer into_slots_;               // of this rank's data into its own slots, where peers read them
  team* team_ = nullptr;
  reliable_multicast* mc_ = nullptr;
};

class run {
 public:
  explicit run(program& p) noexcept : program_(&p) {}
  run(const run&) = delete;
  run& operator=(const run&) = delete;
  ~run();                                                // waits out operations that name this run (bounded)

  // Only when finished. `loose`: the lowest bits of `epoch` that do not count in waits and are the same in all members, or
  // the run ends with `protocol`, naming who signalled others. Only where all multiples are 1. `data` stays where it is until then.
  void begin(std::uint64_t epoch) noexcept;
  void begin(std::uint64_t epoch, std::uint64_t loose, const run_data& data) noexcept;
  // True: finished, with success or an error. `looks`: how often in a row a word that has not arrived is looked at.
  bool advance(std::uint32_t looks = 1) noexcept;
  bool finished() const noexcept { return at_ == program_->code_.size(); }
  const status& outcome() const noexcept { return error_; }
  wait_note waiting_for(const char* what) const noexcept; // what keeps it

 private:
  void prepare(const program::instruction&) noexcept;
  bool send(const program::instruction&) noexcept;
  std::atomic_ref<std::uint64_t> word_of(const program::instruction& i) const noexcept {  // which a peer writes at any time
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(program_->words_ + i.word + data_->words_at +
                                                             set_of(i, i.peer) * data_->sets.words_bytes));
  }
  std::uint64_t value_of(const program::instruction& i, std::uint32_t peer) const noexcept {
    return data_->sends ? (i.outgoing ? data_->sends : data_->takes)[peer] : epoch_;
  }
  // Which set of words and slots this rank and the peer use.
  std::uint64_t set_of(const program::instruction& i, std::uint32_t peer) const noexcept {
    return data_->sets.count > 1 ? value_of(i, peer) / (loose_ + 1) % data_->sets.count : 0;
  }
  bool left_out(const program::instruction&) const noexcept;
  bool agrees(const program::instruction&) noexcept;
  bool fetch(const program::instruction&) noexcept;      // false: not taken, or the run has stopped
  void release_fetched() noexcept;
  bool awaits_cause() noexcept;
  const partition& blocks_of(std::uint32_t buffer) const noexcept { return buffer == 0 ? data_->in : data_->out; }
  const partition& blocks_of(const program::instruction& i) const noexcept { return i.outgoing ? data_->in : data_->out; }
  std::uint64_t offset_in(const place&, std::uint32_t block, std::uint32_t k = 0) const noexcept;
  std::uint64_t local_offset(const buffer&, const place&, std::uint32_t block) const noexcept;
  void move_here(const program::instruction&) noexcept;
  void stop(const status&) noexcept;

  static constexpr run_data nothing{};
  program* program_;
  std::uint64_t epoch_ = 0, loose_ = 0;
  const run_data* data_ = &nothing;
  std::size_t at_ = SIZE_MAX;                            // instruction; SIZE_MAX: never begun
  std::uint32_t sent_ = 0;                               // operations of the current instruction
  time_point failed_at_{};                               // what was fetched; none: it has not
  bool counted_ = false;                                 // arrive: its operation was taken
  completion done_;                                      // of data and of arrive
  status error_;
};

}  // namespace tutti
