// What each member of a team takes the present broadcast to be, for those who wait in vain: a member that passes another
// number of bytes, or another root, would else leave the others waiting until a deadline or for ever.
//
// Every member keeps a page of its own that the others may read: how many broadcasts it has entered, root and bytes of the
// last few, and, once it found a difference, between whom. Entering costs a few stores into one's own memory and no
// message. Who has waited for one look of job::wait (50 ms) reads the page of those it waits for, then after 100, 200,
// 400 ms and so on; who was shown a difference by the data itself (a tag in the words of the trees, in the datagrams and
// repairs of a multicast) reads the page to name it.
//
// All of them learn of it. Whoever cannot finish waits for somebody, who cannot finish either, has not come yet, or found
// a difference and put that on its page. A circle of ranks that wait for each other though all of them agree does not
// exist: the algorithms end where all agree. So along the ranks that are waited for, there is one whose page differs or
// tells of a difference, or one that has not come, and then waiting is right.
//
// Nobody is accused wrongly. Pages are compared for calls that both have entered, three others at most since. One may be
// read while it is written: what looks wrong is read again, 50 ms later, and counts if it is the same.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <string>

#include "core/job/window.h"

namespace tutti {

class broadcast_roll {
 public:
  static constexpr const char* rule = "; root and number of bytes must be alike in all members";

  // Collective over the team, which must outlive it; blocks. Errors: those of window::open.
  static result<std::unique_ptr<broadcast_roll>> open(team&);
  ~broadcast_roll();
  broadcast_roll(const broadcast_roll&) = delete;
  broadcast_roll& operator=(const broadcast_roll&) = delete;

  // The next call, also where it moves nothing.
  void enter(std::uint32_t root, std::uint64_t bytes) noexcept;
  std::uint64_t calls() const noexcept { return mine().calls; }

  // Asked in every look of a wait for these ranks; gaps (no_rank) and the caller itself are passed over. Protocol: one of
  // them gives another number of bytes or another root, or knows who does.
  status doubt(std::span<const rank_t> awaited) noexcept;
  // What came from `from` shows that somebody differs: the error that says who and how. Waits a second at most for pages.
  status differs(rank_t from) noexcept;
  // A timed_out, with what this rank gives.
  status late(const status&) const;

 private:
  struct what {
    std::uint64_t bytes, root;
    bool operator==(const what&) const = default;
  };
  struct page {
    std::uint64_t calls;
    std::array<what, 4> last;    // by call, modulo their number
    std::uint64_t stranger;      // that job rank + 1 gives `strange`, where this one gives `usual`; 0: none was found
    what strange, usual;
  };
  static constexpr std::uint64_t landing = 128, all = 256;  // of the memory: where pages that are read land; bytes
  static_assert(sizeof(page) <= landing);

  explicit broadcast_roll(team& t) noexcept : team_(t) {}
  page& mine() const noexcept { return *reinterpret_cast<page*>(memory_->base()); }
  const page& theirs() const noexcept { return *reinterpret_cast<const page*>(memory_->base() + landing); }
  static const what& in(const page& p, std::uint64_t call) noexcept { return p.last[call % p.last.size()]; }
  bool ask(rank_t) noexcept;
  std::uint64_t odd_call() const noexcept;  // in which theirs() is not as mine(); 0: none
  status tell(rank_t) noexcept;

  team& team_;
  std::unique_ptr<window> memory_;
  completion got_;
  rank_t asking_ = no_rank, suspect_ = no_rank;
  page before_{};                // of the suspect
  std::uint32_t looks_ = 0;      // in this call
  std::size_t next_ = 0;         // of those awaited, in this round
};

}  // namespace tutti
