// What each rank waits for, where the others can read it: so that who waits in vain can be told who is late.
//
// A rank that has waited for one look of job::wait (50 ms) puts on its page what for, in words, and which rank is to act; it takes that
// back when the wait is over. The page lies in the control memory of the world, so reading it costs its owner nothing. Who has
// waited for TUTTI_NOTICE_S reads the page of the rank that it waits for, then of the rank that this one waits for, and so on. The
// chain ends at a rank that waits for nobody: it computes, or does not answer, and is the one to look at. Or it comes back to a rank
// that was passed: then these wait for each other, which no time mends. Where one of them may wait for others besides (a collective does), and
// for a wait for any rank, the search goes through all ranks instead, to find one that does not wait: two ranks are not to be told of each other
// while a third is late.
//
// A wait that is given some time stays on the page when that is over, since the same may begin again at once. Each look writes a page anew, with
// another number. So who reads such a page reads it again until the number is another: else the rank waits no more.
//
// Pages are read while they are written, and one after the other: a notice is as good as a glance around. What is torn is read again.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "core/job/shown_waits.h"
#include "core/job/team.h"

namespace tutti {

struct wait_note;

class wait_board {
 public:
  static constexpr std::uint32_t lines = 8;  // of control memory, in the world's, behind all others

  explicit wait_board(job&);
  ~wait_board();
  wait_board(const wait_board&) = delete;
  wait_board& operator=(const wait_board&) = delete;

  // Of each look of a wait: puts it on the page, and where it is late, goes on with finding out who keeps this rank. True: found() says
  // all that is to be known, behind "waited 5 s in"; after that the search begins anew.
  bool look(const wait_note&, bool late, bool lasts = true) noexcept;  // `lasts`: until what it waits for, whenever that is
  const std::string& found() const noexcept { return found_; }
  void withdraw() noexcept;      // the wait is over
  void pause() noexcept;         // its time is, and it may begin again
  // From now on the launcher sees it as well. `beside`: the path of another file of the launcher's.
  void show_to_launcher(const std::string& beside) noexcept { shown_.find(beside, job_.size()); }

 private:
  static constexpr std::uint32_t page_lines = lines / 2;
  struct page {
    std::uint64_t number;     // of the waits that were told here, even; odd while it is written
    std::uint32_t waits;      // of the bits below
    rank_t awaited;           // who is to act; no_rank: any
    char words[page_lines * control::line_bytes - 3 * sizeof(std::uint64_t)];
    std::uint64_t number_behind;
  };
  static_assert(sizeof(page) == page_lines * control::line_bytes);
  static constexpr std::uint32_t waits = 1, exactly = 2, for_a_time = 4;  // exactly: for no other than the awaited rank
  using in_words = std::array<std::uint64_t, sizeof(page) / sizeof(std::uint64_t)>;

  void write(const page&) noexcept;
  void publish(const wait_note&, const std::string& words, bool lasts) noexcept;
  bool ask(rank_t) noexcept;
  bool search(const wait_note&, const std::string& words);
  bool go_on_at(rank_t);
  bool go_through_all(bool circle);
  bool end(const std::string& more);

  job& job_;
  const control_lines at_;
  std::uint64_t number_ = 0;
  bool told_ = false;            // the page says that this rank waits
  shown_waits shown_;
  completion got_;
  rank_t asking_ = no_rank;      // in this search
  rank_t asked_ = no_rank;       // last
  std::uint32_t silent_looks_ = 0;  // since it was asked
  std::uint64_t seen_number_ = 0;   // of its page, where that is of a wait for a time
  std::vector<rank_t> seen_;     // in this search, in order
  std::string found_;            // what is known so far
  bool exact_ = false;           // each rank so far waits for no other than the next
  bool any_ = false;             // it goes through all ranks,
  bool circle_ = false;          // since the chain was a circle, but another rank may be late that one of them waits for as well
};

}  // namespace tutti
