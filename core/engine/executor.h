// Runs schedules. bind() turns a schedule into a program for one team: operations prepared down to ranks, segments and
// offsets, so that a run only patches values and submits. A run is a position in the program; advance() goes as far as
// it can without blocking and allocates nothing.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/engine/reliable_multicast.h"
#include "core/schedule/schedule.h"
#include "core/job/team.h"

namespace tutti {

// One buffer of a collective: this rank's memory and the segment in which the peers expose theirs.
struct buffer {
  std::byte* base = nullptr;
  region_id local = plain_memory;
  segment_id segment{};
};

class program {
 public:
  // `first_line`: where the schedule's word 0 lies in the team's control segment. `mc` may be null if the schedule
  // does not use multicast. Errors: unsupported, a step this executor has no means for.
  static result<program> bind(const schedule&, team&, std::uint32_t first_line, reliable_multicast* mc,
                              std::span<const buffer> buffers = {});
  // Lines of control segment that a bound schedule needs: its words, and one where an `arrive` lands its count.
  static std::uint32_t lines(std::uint32_t words) noexcept { return words + 1; }
  // From now on copies from and to this buffer use memory at `base` instead: not to be called during a run. Memory that
  // peers or the fabric reach, or that operations name, cannot be moved in this way.
  void move_copies(std::uint32_t buffer, std::byte* base) noexcept;
  std::size_t bytes() const noexcept;  // of memory, for those who count
  // Maps what the program will reach, where the fabric maps at all, so that no run pays for a first use: a rank may be
  // the last to arrive at a counter, and so the one to signal everybody, for the first time after a million epochs.
  void touch() noexcept;

 private:
  friend class run;
  enum class kind : std::uint8_t { send, wait, arrive, multicast, await_multicast, copy, complete };
  struct instruction {
    kind what;
    // send: operations; arrive: its operation, instructions to skip; copy: which
    std::uint32_t first = 0, count = 0;
    std::uint32_t peer = any_peer;         // team index, for those who ask what is waited for
    const std::uint64_t* word = nullptr;   // wait
    std::uint64_t multiple = 1;
  };
  struct move {
    place to, from;
    std::uint64_t bytes;
  };
  std::vector<instruction> code_;
  std::vector<rma_op> ops_;
  std::vector<std::uint64_t> multiples_;   // of ops_, operand = epoch * multiple; 0: the operand stands
  std::vector<move> copies_;
  std::vector<std::byte*> bases_;          // of the buffers, for copies
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
  // the run ends with `protocol`, naming who signalled others. Only where all multiples are 1.
  void begin(std::uint64_t epoch, std::uint64_t loose = 0) noexcept;
  // True: finished, with success or an error. `looks`: how often in a row a word that has not arrived is looked at.
  bool advance(std::uint32_t looks = 1) noexcept;
  bool finished() const noexcept { return at_ == program_->code_.size(); }
  const status& outcome() const noexcept { return error_; }
  wait_note waiting_for(const char* what) const noexcept; // what keeps it

 private:
  bool send(const program::instruction&) noexcept;
  static std::atomic_ref<std::uint64_t> word_of(const program::instruction&) noexcept;
  bool agrees(const program::instruction&) noexcept;
  void stop(const status&) noexcept;

  program* program_;
  std::uint64_t epoch_ = 0, loose_ = 0;
  std::size_t at_ = SIZE_MAX;                            // instruction; SIZE_MAX: never begun
  std::uint32_t sent_ = 0;                               // operations of the current instruction
  bool counted_ = false;                                 // arrive: its operation was taken
  completion done_;                                      // of data and of arrive
  status error_;
};

}  // namespace tutti
