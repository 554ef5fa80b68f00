// Memory of engines that they can make anew, as the long slots of collectives, so that a job with many teams does not hold that of all
// of them: the memory that was not used for the longest time goes, beyond `most` bytes in this rank.
//
// A team's members give such memory up alike: for all of them it ends behind the same one of its uses. An idle team makes no call in
// which they might agree on that, so they agree by words in memory that all of them map, the gate:
//   - a word for each member, which it alone writes: how often it has used the memory, and whether it is in or has left;
//   - the state: open, closing or closed, and a number that is another at each attempt to close.
// A member that is in uses the memory as it likes, and only counts its uses. It leaves when its job wants other memory and this is
// idle here. To come in again it writes its word, and then looks at the state: closing, it makes that open again; closed, the
// memory is gone. A member that has left tries to close: it makes the state closing, with a new number, reads all words, and makes the
// state closed if all have left after equally many uses, and if the state is still the same.
//
// Safety. Say that the state has become closed, and all words have been seen with k uses. Writes of one's word and looks at the state, and
// on the other side writes of the state and looks at the words, stand in one order for all members. A member that came in before its word
// was looked at would have been seen. One that comes in later finds the state closing, or closed. If it makes that open again,
// nobody makes it closed any more, for the number is another from then on. So nobody is in, or ever will be, and all have ended k uses:
// nothing that one gave in them is still to be taken by another, and nobody is ahead in use k + 1, which all members find without this memory.
// Nothing is under way there either: this is for memory upon which operations are complete when they begin (the caller sees to
// it). No step waits for another member, so one that dies leaves the others nothing to wait for.
//
// Steady calls. Memory that was given back three times and made anew stays: a job that goes round among many teams soon keeps that of all,
// however slowly it goes.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/round_up.h"

namespace tutti {

class slot_pool {
 public:
  static constexpr std::uint32_t most_members = 512;  // of a gate
  static constexpr unsigned most_times = 3;           // that memory of one kind is given back by an engine
  // Zeroed, and aligned to 8.
  static constexpr std::uint64_t gate_bytes(std::uint32_t members) noexcept { return round_up(8 * (std::uint64_t{members} + 1), 64); }

  class holding {
   public:
    struct what {
      std::byte* gate;                 // the one that all members of the team map
      std::uint32_t members, index;
      const void* engine;              // whose it is; its own calls let none of its memory go
      std::uint64_t bytes;
      unsigned times_before;           // that such memory of this engine was given back
      std::function<void()> give_back; // destroys this
    };
    holding(slot_pool&, what);         // comes in
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;
    ~holding();

    // A use begins, which every member has. False: the memory is gone, in all members before this use.
    bool begin() noexcept {
      if (!in_ && !come_in()) return false;
      ++uses_, busy_ = true, last_ = ++pool_.uses_;
      return true;
    }
    void end() noexcept { busy_ = false; }

   private:
    friend class slot_pool;
    std::atomic_ref<std::uint64_t> word(std::uint32_t i) const noexcept { return std::atomic_ref(reinterpret_cast<std::uint64_t*>(what_.gate)[i]); }
    std::atomic_ref<std::uint64_t> state() const noexcept { return word(0); }
    std::atomic_ref<std::uint64_t> word_of(std::uint32_t member) const noexcept { return word(1 + member); }
    bool come_in() noexcept;
    void leave() noexcept;
    bool closed() noexcept;

    slot_pool& pool_;
    const what what_;
    std::uint64_t uses_ = 0, last_ = 0;  // the last one, by the pool's count
    bool in_ = false, busy_ = false;
  };

  // Leaves idle memory of other engines, as far as this rank will hold more than `most` bytes with `more` new ones.
  void leave_idle(const void* engine, std::uint64_t more) noexcept;
  // Gives back the memory that all members have left.
  void give_back() noexcept;

  std::uint64_t most = 32 << 20;

 private:
  std::vector<holding*> all_;
  std::uint64_t uses_ = 0;
};

}  // namespace tutti
