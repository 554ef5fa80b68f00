// Which collective calls each member of a team has made, for those who wait in vain: a member that calls another collective, or
// a broadcast of another number of bytes or from another root, would else leave the others waiting until a deadline or for ever.
//
// Every member keeps a page of its own that the others may read, in the team's control memory: how many collective calls it
// has made on this team, what the last few unlike ones were (calls that are the same in a row are one entry, so a loop takes no
// room), and, once it found a difference, between whom. Entering costs a few stores into
// one's own memory and no message. Who has waited for one look of job::wait (50 ms) reads the page of those it waits for, then
// after 100, 200, 400 ms and so on; who was shown a difference by the data itself (a tag in the words of the trees, in the
// datagrams and repairs of a multicast) reads the page to name it. Who waits for anybody reads another member's at each look.
//
// All of them learn of it. Whoever cannot finish waits for somebody, who cannot finish either, has not come yet, or found
// a difference and put that on its page. A circle of ranks that wait for each other though all of them agree does not
// exist: the algorithms end where all agree. So along the ranks that are waited for, there is one whose page differs or
// tells of a difference, or one that has not come, and then waiting is right.
//
// A member that has waited for 5 s, or as TUTTI_NOTICE_S says, tells by job_options::late who is waited for and what that one
// calls, and again each time that the wait has become twice as long: it may be late, or forget the call, which nobody can tell apart.
//
// Nobody is accused wrongly. Pages are compared for calls that both have made and that both still tell: a root may be ahead by
// data_layout::sets_in_turn calls, each unlike the one before, and whoever gives and takes nothing by any number. A page may be
// read while it is written: what looks wrong is read again, 50 ms later, and counts if it is the same.
#pragma once
#include <array>
#include <bit>
#include <span>
#include <string>

#include "collectives/algorithm.h"
#include "core/job/team.h"

namespace tutti {

// Numbers behind the last name are those of the collectives.
enum class call_kind : std::uint16_t { none, team_create, team_split, window_create, window_free, leave };
constexpr call_kind kind_of(collective c) noexcept {
  return static_cast<call_kind>(static_cast<unsigned>(call_kind::leave) + 1 + static_cast<unsigned>(c));
}
// Calls with a name of their own that a collective of another name carries out. alltoallw is told as an alltoallv.
inline constexpr call_kind kind_of_gatherv = kind_of(static_cast<collective>(collectives)),
                           kind_of_scatterv = kind_of(static_cast<collective>(collectives + 1)),
                           kind_of_allgatherv = kind_of(static_cast<collective>(collectives + 2)),
                           kind_of_neighbor_allgather = kind_of(static_cast<collective>(collectives + 3)),
                           kind_of_neighbor_alltoall = kind_of(static_cast<collective>(collectives + 4));

class call_record {
 public:
  // While it lives, exchanges of the team ask it as well. The team outlives it.
  explicit call_record(team&);
  ~call_record();
  call_record(const call_record&) = delete;
  call_record& operator=(const call_record&) = delete;

  struct what {
    std::uint64_t bytes = 0;       // where lengths are unlike, but known to all: a checksum of them
    std::uint32_t root = 0;
    call_kind kind = call_kind::none;
    std::uint8_t type = 0, op = 0;  // of a reduction: datatype and operation
    bool operator==(const what&) const = default;
    std::string in_words() const;
  };

  // The next call, also where it moves nothing; its number, from 1.
  std::uint64_t enter(call_kind kind) noexcept { return enter(what{.kind = kind}); }
  std::uint64_t enter(const what& called) noexcept {
    page& p = mine();
    const std::uint64_t call = p.calls + 1;
    const auto words = std::bit_cast<what_in_words>(called);
    if (p.entries == 0 || p.last[p.entries % kept].words != words) {
      // Whole words, since another rank's question may read them now; it reads twice.
      const auto write = [](std::uint64_t& to, std::uint64_t value) { std::atomic_ref(to).store(value, std::memory_order_relaxed); };
      entry& e = p.last[(p.entries + 1) % kept];
      write(e.first, call);
      for (std::size_t i = 0; i < words.size(); ++i) write(e.words[i], words[i]);
      write(p.entries, p.entries + 1);
    }
    std::atomic_ref(p.calls).store(call, std::memory_order_release);
    looks_ = 0, next_ = 0, has_words_ = false, kept_by_ = no_rank;
    return call;
  }

  std::uint64_t calls() const noexcept { return mine().calls; }  // the newest one's number
  what newest() const noexcept { return newest_of(mine()); }

  // Asked in every look of a wait for these ranks; gaps (no_rank) and the caller itself are passed over, and where nobody is left
  // any member is meant. Protocol: one of them makes another call, or knows who does; native() tells how many calls this rank has made
  // since the one that differs.
  status mismatch(std::span<const rank_t> awaited) noexcept;
  // What came from `from` shows that somebody differs: the error that says who and how. Waits a second at most for pages.
  status differs(rank_t from) noexcept;
  // The words of a wait of the newest call, as wait_note::words. Where the awaited rank has made the call too, and so waits for another, the
  // job tells of a long wait (core/job/wait_board.h).
  std::string in_words(wait_note&);
  // This rank has no memory for its part in the newest call: those who wait for it are to hear of it.
  void has_no_memory() noexcept;
  // A timed_out, with what this rank calls.
  status late(const status&) const;

 private:
  using what_in_words = std::array<std::uint64_t, sizeof(what) / sizeof(std::uint64_t)>;
  struct entry {
    std::uint64_t first;         // call, of those in a row; 0: none yet
    what_in_words words;
  };
  static constexpr std::size_t kept = 18;
  struct page {
    std::uint64_t calls, entries;
    std::array<entry, kept> last;  // by entry, modulo their number
    std::uint64_t culprit;       // that job rank + 1 calls `odd` (none: it has no memory), where this one calls `usual`; 0: none was found
    what odd, usual;
    std::uint64_t odd_at;        // the call in which they differ
  };
  static constexpr std::uint32_t landing = control::record_lines / 2;  // line of it where pages that are read land
  static_assert(sizeof(page) <= landing * control::line_bytes && kept > data_layout::sets_in_turn);

  page& mine() const noexcept { return *reinterpret_cast<page*>(lines_.base + lines_.at(0)); }
  const page& theirs() const noexcept { return *reinterpret_cast<const page*>(lines_.base + lines_.at(landing)); }
  static what newest_of(const page& p) noexcept { return std::bit_cast<what>(p.last[p.entries % kept].words); }
  static const entry* entry_of(const page&, std::uint64_t call) noexcept;  // null: that page does not tell, or not any more
  bool ask(rank_t) noexcept;
  std::string newest_call() const;  // with its number, and of which team
  std::uint64_t odd_call() const noexcept;  // in which theirs() is not as mine(); 0: none
  status tell(rank_t) noexcept;
  bool notice_is_due() noexcept;
  void give_notice(rank_t from, bool answered) noexcept;

  team& team_;
  const control_lines lines_;
  completion got_;
  rank_t asking_ = no_rank, suspect_ = no_rank;
  page before_{};                // of the suspect
  std::uint32_t looks_ = 0;      // in this call
  time_point first_look_, next_notice_;  // of it
  bool has_words_ = false;       // the wait was put in words
  rank_t kept_by_ = no_rank;     // the rank of which the job tells
  std::uint32_t anyone_ = 0;     // whom to ask next where anybody is meant, from this rank on
  std::size_t next_ = 0;         // of those awaited, in this round
};

}  // namespace tutti
