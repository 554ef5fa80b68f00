// MPI's windows, by tutti's (Huang 2005, 3.3: one-sided where the fabric is). MPI makes a window of its own over the same memory, which
// keeps what is asked of windows (attributes, groups, names, handlers of errors); what moves data goes by tutti.
//
// A window has a second one of tutti's beside it, of words, a line of them for each use (`words`):
//
//   the lock of MPI_Win_lock     the number of shared holders, and bits above it for an exclusive one and for one that waits
//   its queue                    of the exclusive lockers that wait for this lock or got it by waiting
//   the queue of accumulates     An accumulate gets, computes and puts while it is its turn at the target, so that all of them are atomic
//                                to each other, whatever their types.
//   posted, by member            how often that member has posted an exposure to this rank (MPI_Win_post)
//   completed, by member         how often that member has completed an access here (MPI_Win_complete); its signal overtakes none of its
//                                puts
//
// The counts only grow, and a wait is for the count of its own turn: a fast member's next post or completion cannot be taken for another
// turn's, and a word is not reset, so that nothing can be lost by it.
//
// The memory of a shared window (MPI_Win_allocate_shared) is MPI's, mapped by all members, and put and get are copies; there is no window
// of tutti's over it, only the words.
//
// A queue is one word (a ticket lock): the turn that is served in the lower half, the next one to be given in the upper half, both modulo
// 2^32. Who comes takes the next turn by a fetch and add, which also tells whether that is being served, and ends the turn by adding 1 to
// the lower half. So one rank at a time has its turn, as long as fewer than 2^32 wait; the queue is served in the order of coming, and no
// number of ranks that poll keeps another out; and a queue that is empty costs one atomic.
//
// Dynamic windows, and those of communicators without a team, are MPI's alone.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/tutti.h"
#include "mpi/communicator.h"
#include "mpi/real.h"
#include "mpi/report.h"
#include "mpi/world.h"

namespace tutti::mpi {

struct window {
  MPI_Win handle = MPI_WIN_NULL;
  std::unique_ptr<communicator> own;               // its team, of the same members: the window may outlive theirs
  tutti_window_t data = nullptr, words = nullptr;  // data: null of a shared window
  std::uint32_t rank = 0, size = 0;
  bool allocated = false;                          // by tutti, which MPI does not know
  struct part {
    std::uint64_t unit, skew, bytes;  // of a displacement; from the part's begin to MPI's base; from there
    std::byte* mapped;                // here, of a shared window
  };
  std::vector<part> parts;
  std::vector<int> access, exposure;                               // members of the epochs that are open
  bool accessing = false, exposed = false;                         // by MPI_Win_start, by MPI_Win_post; groups may be empty
  enum class fence : std::uint8_t { none, open, used } fenced = fence::none;  // used: data was moved since the last fence
  std::vector<std::uint64_t> posted, started, completed, awaited;  // by member: turns so far
  enum class hold : std::uint8_t { none, shared, exclusive, queued, unchecked };  // queued: exclusive, in a turn of the queue;
                                                                                  // unchecked: MPI_MODE_NOCHECK, no word is touched
  struct lock_held {
    hold how = hold::none;
    std::uint32_t turn = 0;  // if queued
  };
  std::vector<lock_held> locked;                                   // by member
  std::vector<bool> started_to;                                    // by member: it is in `access`
  bool locked_all = false;                                         // by MPI_Win_lock_all
  std::atomic<std::uint32_t> locks = 0;                            // by MPI_Win_lock, of several threads at a time
  // Null, or why this rank may not open an epoch of access beside the one that is open.
  const char* busy() const noexcept {
    return accessing ? "an epoch of MPI_Win_start is open" : locked_all || locks > 0 ? "this rank holds a lock" : nullptr;
  }
  // The same of any epoch, which keeps the window from a fence and from being freed.
  const char* open_epoch() const noexcept { return exposed ? posted_already : busy(); }
  static constexpr const char* posted_already = "an epoch of MPI_Win_post is open";
  // Whether an epoch is open in which data moves between this rank and that one; marks it.
  bool may_move(std::uint32_t member) noexcept {
    if (locked[member].how != hold::none || started_to[member]) return true;
    if (fenced == fence::none) return false;
    fenced = fence::used;
    return true;
  }

  enum class word : std::uint64_t { lock, queue, accumulating, first_of_members };
  static std::uint64_t at(word w) noexcept { return 8 * static_cast<std::uint64_t>(w); }
  std::uint64_t post_of(std::uint32_t member) const noexcept { return at(word::first_of_members) + 8 * std::uint64_t{member}; }
  std::uint64_t completion_of(std::uint32_t member) const noexcept { return post_of(size + member); }
  static std::size_t bytes_for(std::uint32_t members) noexcept { return at(word::first_of_members) + 16 * std::size_t{members}; }
};

// Null: MPI's own. Valid until the window is freed.
window* find(MPI_Win) noexcept;

// Reports an error to the window's error handler, as raise() of world.h does to a communicator's.
inline int raise(const window& w, const char* call, int error_class, const char* text) {
  return raise_text(handler_of_window{w.handle}, call, error_class, text);
}
int raise(const window&, const char* call, tutti_status_t);
inline int told(const window& w, const call& k, tutti_status_t s) { return s == TUTTI_OK ? MPI_SUCCESS : raise(w, k.name(), s); }

tutti_status_t barrier(const window&);
tutti_status_t flush(const window&, std::uint32_t rank);  // or TUTTI_ALL

// Change a word of a member's and wait for what it was.
tutti_status_t swap_if(const window&, std::uint32_t rank, window::word, std::uint64_t expected, std::uint64_t value, std::uint64_t& old);
tutti_status_t add_to(const window&, std::uint32_t rank, window::word, std::uint64_t value, std::uint64_t& old);
// Blocks until it is this rank's turn in a member's queue.
tutti_status_t take_turn(const window&, std::uint32_t rank, window::word queue, std::uint32_t& turn);
// Behind all that was begun towards that rank, as take_from().
tutti_status_t end_turn(const window&, std::uint32_t rank, window::word queue, std::uint32_t turn);
// Behind all that was begun towards that rank.
tutti_status_t take_from(const window&, std::uint32_t rank, window::word, std::uint64_t value);

// Operations at this rank's own words are over at once and let nothing advance. Others' tries for a lock here must be served while the
// lock is free, and their releases while this rank tries: or a program that accumulates in a loop here would keep them out for ever.
void serve_others();
void wait_for_lock(unsigned turn);

}  // namespace tutti::mpi

// Of a function that moves data, and of that with counts of any size.
#define TUTTI_MPI_TRANSFER(name, parameters, arguments, ours)                         \
  TUTTI_MPI_SMALL(TUTTI_MPI_ON_WINDOW(name, name, parameters, arguments, win, ours))  \
  TUTTI_MPI_LARGE(TUTTI_MPI_ON_WINDOW(name, name##_c, parameters, arguments, win, ours))
// A function on a window: `ours` where tutti has it, else MPI's own, which may block.
#define TUTTI_MPI_WINDOW(name, parameters, arguments, handle, ours) TUTTI_MPI_ON_WINDOW(name, name, parameters, arguments, handle, ours)
#define TUTTI_MPI_ON_WINDOW(reported, name, parameters, arguments, handle, ours) \
  TUTTI_MPI_ENTRY(name, parameters, handler_of_window{handle}, {             \
    call k(function::reported);                                              \
    window* of;                                                              \
    {                                                                        \
      const held h;                                                          \
      of = find(handle);                                                     \
    }                                                                        \
    if (!of) {                                                               \
      k.passed(reason::window);                                              \
      const passing by_mpi;                                                  \
      return real.name arguments;                                            \
    }                                                                        \
    window& w = *of;                                                         \
    ours                                                                     \
  })
