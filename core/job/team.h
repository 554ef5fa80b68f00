// A team: an ordered group of the job's ranks with a control segment of its own, through which its members signal,
// exchange blobs, and learn of each other's deaths. Engines keep their state beside it, never in it.
//
// Making a team is collective over its parent: every member of the parent calls with its own part, blocks, and gets its
// team, or null if it is in none. Using teams is free: collectives on different teams, overlapping or not, may be in
// flight at once in any order, because no word is shared between teams and every waiting rank drives all its teams.
//
// Control memory is allocated here and not at the first collective (Kini 2003, 5.1 weighs both): the first collective
// may be nonblocking, and an exchange inside it would have to block. It costs control::engine lines (2.1 KiB), the engines'
// own words, and those of core/job/agreement.h (0.4 KiB up to 256 members).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/job/control.h"
#include "core/job/exposed_memory.h"
#include "core/job/resumable.h"

namespace tutti {

class agreement;
class bootstrap;
class team;
struct wait_note;

// Lines of control memory (core/job/control.h): of a segment in which every member exposes memory of the same layout.
struct control_lines {
  segment_id segment;
  region_id region;      // mine
  std::byte* base;       // of the region
  std::uint64_t offset;  // of the first line

  static control_lines of(const team&, std::uint32_t first) noexcept;  // of the team's own
  std::uint64_t at(std::uint32_t line) const noexcept { return offset + control::offset(line); }
  std::atomic_ref<std::uint64_t> word(std::uint32_t line) const noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(base + at(line)));
  }
};

struct team_request {
  // Lines the engines want in the new team's control segment; the same function of the same facts in every member.
  std::uint32_t lines = 0;
  std::string_view agreement;  // must be alike in all members of the new team
};

class team {
 public:
  ~team();
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  std::uint32_t size() const noexcept { return members_.size(); }
  std::uint32_t index() const noexcept { return index_; }             // mine
  rank_t rank_of(std::uint32_t i) const noexcept { return members_[i]; }
  status has(std::uint32_t index, const char* during) const;         // errc::invalid: there is no such member
  const rank_map& members() const noexcept { return members_; }
  job& parent_job() noexcept { return job_; }
  // The number of this team, alike in all members and that of no other team of the job, ever; the world's is 0 (core/job/team_book.h).
  std::uint64_t id() const noexcept { return id_; }
  std::vector<std::uint32_t> nodes() const;                           // by index: dense, in order of first appearance

  segment_id segment() const noexcept { return memory_.segment(); }
  region_id region() const noexcept { return memory_.region(); }      // my part of it
  std::uint32_t lines() const noexcept { return lines_; }             // of the engines
  std::uint64_t load(std::uint32_t line) const noexcept { return control::load(memory_.base(), line); }
  const std::uint64_t* word(std::uint32_t line) const noexcept {
    return reinterpret_cast<const std::uint64_t*>(memory_.base() + control::offset(line));
  }
  void set_own(std::uint32_t line, std::uint64_t value) noexcept;     // before any peer may write the line

  // Sets a check that is made now and then while an exchange waits for rank `awaited` (that of settle() until all members have come to it);
  // an error of the check ends the exchange. `asked`: of what the check has begun upon memory of this team; null: of nothing. `words`: as
  // wait_note::words, of the call that exchanges.
  using words_of_wait = std::function<std::string(wait_note&)>;
  void check_waits(std::function<status(rank_t awaited)> check, const completion* asked, words_of_wait words = {}) {
    check_ = std::move(check), asked_ = asked, words_ = std::move(words);
  }
  // Collective over this team: the blobs of all members, by index. The first form blocks. Of the second, a team has one under
  // way at a time.
  result<shared_blobs> exchange(std::span<const std::byte> mine, time_point deadline = time_point::max());
  resumable<result<shared_blobs>> exchanging(std::vector<std::byte> mine, time_point deadline = time_point::max());
  // The same for values of as many bytes in all members. A further error: protocol (a member called something else).
  status exchange(std::span<const std::byte> mine, std::span<std::byte> all, time_point deadline = time_point::max());
  template <class T>
  result<std::vector<T>> exchange_values(const T& mine, time_point deadline = time_point::max()) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(size());
    const status s = exchange(std::as_bytes(std::span{&mine, 1}), std::as_writable_bytes(std::span{all}), deadline);
    if (s.failed()) return s;
    return all;
  }
  // Collective over this team; the second form blocks. Success, if all members `among` these (job ranks) bring it; else, in all alike,
  // unavailable, naming one that does not with its text.
  resumable<status> agreeing(status mine, rank_map among, time_point deadline);
  status agreed(const status& mine, time_point deadline);
  // Collective over this team, which all members leave when all are here. Further errors: protocol, if one brings other bytes.
  resumable<status> meeting(std::vector<std::byte> agreement, time_point deadline);
  status called_another(std::uint32_t index) const;                   // the error of whoever gets a blob of another call
  // Collective over this team: after it no operation of any member is in flight upon memory of the team or its windows,
  // as long as nobody begins another; each may then drop its part. Blocks.
  status settle(time_point deadline = time_point::max());
  // The same as the last thing that this team does before members leave the job, each when its own part is done.
  status leave(time_point deadline = time_point::max());

  // Collective over this team. The members of the new team, in order, as indices into this one; ranks that call with
  // different lists get `invalid` unless the lists are disjoint. An empty list: this rank joins none.
  using plan = team_request (*)(void* context, const rank_map& members);
  result<std::unique_ptr<team>> create(std::span<const std::uint32_t> list, plan, void* context);
  resumable<result<std::unique_ptr<team>>> creating(std::vector<std::uint32_t> list, plan, void* context,
                                                    time_point deadline = time_point::max());
  // As create(), but collective over the listed members alone: what they tell each other travels by `meeting`, whose rank and size are
  // those in the new team. A further error: unavailable, in all alike, naming one that cannot be a member, with its text.
  result<std::unique_ptr<team>> create_group(std::span<const std::uint32_t> list, bootstrap& meeting, plan, void* context);
  // Groups by color, ordered by key and then by index here. A negative color: this rank joins none.
  result<std::unique_ptr<team>> split(std::int32_t color, std::int32_t key, plan, void* context);

  // What the members do that live, also where the team is broken: core/job/agreement.h. Made when it is first asked for.
  agreement& survivors();
  // Collective over the members but these `dead`, which the last agreement there found: a team of them, in order. Ends with an
  // error in some of them, perhaps not in all, where one has died since or has an error of its own: so another agreement follows.
  result<std::unique_ptr<team>> regroup(std::span<const std::uint32_t> dead, plan, void* context);

  // Success while every member can still take part. The first failure stays.
  const status& health() noexcept;   // cheap: looks at the poison word only
  // Asks the transport for the health of the awaited rank and of log2(size) others, one of them another at each call. A member
  // that left counts only if awaited.
  status look(rank_t awaited) noexcept;
  void fail(const status&) noexcept;     // remembers, and tells the others
  void give_up(const status& s) noexcept { if (health_.ok()) health_ = s; }  // tells nobody: this member takes part no more
  // fail(), if others might wait for this rank for ever after this error of an engine: an operation or its peer was lost. Other
  // errors are the caller's own, or have come to all alike.
  void fail_if_lost(const status&) noexcept;

 private:
  friend class job;
  friend struct control_lines;
  status as_reported(rank_t, bool still_lives) const;
  team(job& j, rank_map members, std::uint32_t index);
  // Two halves of making one, so that its key can travel in between.
  result<std::vector<std::byte>> allocate(std::uint32_t engine_lines, std::uint32_t behind_all = 0);
  status attach(shared_blobs keys);
  struct offer;
  struct seats;
  result<seats> seats_of(std::span<const std::uint32_t> list) const;
  offer prepare(rank_map members, std::uint32_t index, plan, void* context);
  status unite(offer&, const blob_table& blobs) const;
  resumable<result<std::unique_ptr<team>>> assembling(rank_map members, std::uint32_t index, plan, void* context, time_point);

  // The parts of an exchange (team_exchange.cpp).
  std::uint64_t load_word(std::uint64_t offset) const noexcept { return control::load_word(memory_.base(), offset); }
  bool asking() const noexcept { return asked_ && !asked_->idle(); }
  rank_t parent() const noexcept;
  std::uint32_t child(unsigned number) const noexcept;
  unsigned children() const noexcept;
  resumable<status> await(rank_t from, function_ref<bool> ready, function_ref<const status*> lost, time_point);
  resumable<status> take(rank_t from, std::uint32_t arrival, std::uint64_t& taken, std::uint64_t credit, bool turn,
                         std::vector<std::byte>& stream, time_point);
  resumable<status> give(rank_t to, std::uint32_t arrival, std::uint64_t& sent, std::uint64_t credit,
                         std::span<const std::byte> stream, time_point);
  resumable<status> gather(std::vector<std::byte>& stream, time_point);
  resumable<status> spread(std::vector<std::byte>& stream, time_point);

  job& job_;
  rank_map members_;
  std::uint32_t index_ = 0, lines_ = 0;
  std::uint64_t id_ = 0;
  status health_;                       // the first failure that lasts: no exchange works after it
  exposed_memory memory_;
  std::unique_ptr<agreement> survivors_;
  std::uint64_t taken_up_ = 0, taken_down_ = 0, sent_down_ = 0;  // fragments, of all exchanges so far; a turn counts as one
  std::uint64_t turn_ended_ = 0;        // the parent's count when it has taken all that this member sent in its last turn
  completion sending_;                  // of the fragment in fragment_out; outlives a failed exchange
  completion crediting_;                // of its credits; likewise
  completion flushing_;                 // of settle(); outlives one that ran out of time
  std::function<status(rank_t)> check_;
  const completion* asked_ = nullptr;   // of it
  words_of_wait words_;
  bool all_came_ = false;               // to the present exchange, as far as this member knows
  bool settling_ = false;               // in settle(), behind which memory may go
  bool leaving_ = false;                // since leave()
  std::uint32_t looks_ = 0;             // calls of look() so far: says which rank to ask next
};

inline control_lines control_lines::of(const team& t, std::uint32_t first) noexcept {
  return {t.segment(), t.region(), t.memory_.base(), control::offset(first)};
}

}  // namespace tutti
