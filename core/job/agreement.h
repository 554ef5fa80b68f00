// Agreement among the members of a team that live: on who is dead, and on the bitwise AND of flags. Works on a team that a death
// has broken, whatever its members were in when they were told, and in spite of further deaths at any time.
//
// Pages. Every member owns a page in its control memory, which it alone writes and the others read by gets. The page carries a
// hash of its words, so a reader knows whether it got the page whole (Mitchell et al. 2013, Pilaf, section 3.1). The only
// words that others write are bells, which count; a bell says that it is worth while to read pages again, and nothing else, so
// whatever a rank still writes after it was taken for dead does no harm. A page tells of one agreement, by its number:
//   entered    the flags of its member, and whom that member knows to be dead
//   proposes   the value (flags and dead) that its member proposes as the leader
//   adopted    the value that was read on the page of a leader, and which leader that was
//   decided    the value that its member returns
//   withdrawn  this member takes no part in this agreement and later ones, and counts as dead
//
// Protocol. The leader is the lowest member that is not known to be dead. (Cachin, Guerraoui and Rodrigues 2011, 5.2.3, calls
// this hierarchical uniform consensus.) Whoever leads and has adopted no value reads the pages of all others until each has
// entered or is dead, and forms the AND of the flags and the union of the dead. A leader that has adopted a value keeps it.
// The leader puts the value on its page, waits until each other member has adopted it from there or is dead, and has decided.
// The others follow: each rings the leader when it has entered, adopts what the leader proposes, rings again, and decides when
// the leader has. When its leader is dead, it follows the next one or leads. A page that is decided, whosesoever, decides for
// whoever reads it.
//
// Safety. Assume that the transport takes no living rank for dead (clause 10). Say that a leader k decides v, and that no lower
// one has decided. When it does, every member that lives has adopted v from k, and knows all below k to be dead. Whoever leads
// later lived then; so its own value is v and it proposes v, by induction over the leaders after k. So whatever is adopted
// after k's decision is v, and no other value is decided, not even by a rank that dies at once: the agreement is uniform. A
// value holds the AND of what members entered with, since joining a value that was adopted from a dead leader with other
// flags again gives such an AND; and it holds ranks that are dead, and no others.
// A member that reads a page of a later agreement, or finds that a member has dropped its page with the team, knows that this
// agreement was decided; it has then adopted the value by the above.
//
// Liveness. Every wait is for members that either come to what is awaited or die, and ends with either. A member may be in another
// wait of the team, for one that agrees already; a death that any member of the agreement learns of breaks the team at once, so that it
// is told and comes. Who waits for one that lives asks after others as well (team::look()). Where nobody has died the team stays whole:
// members may rightly be in a collective that the others have left. The highest-numbered
// survivor follows finitely many leaders. Bells that were lost are made up for by reading again every 50 ms. A member whose
// connection with a living one it needs is broken for good, for want of memory say, as a get and health() tell it, withdraws with
// that error. The other may wait for an answer over that connection until this member leaves, and tells for whom after 5 s.
//
// Where the network parts the job, each part takes the other for dead and decides for itself; nobody can tell. A rank
// that is alone in being taken for dead finds itself among the dead and gets an error.
//
// Pages are reused: a member enters agreement e + 1 only when it has decided e, and nobody decides e + 1 before all that live
// have entered it. So the page of e is overwritten while others still are in e at most by that of e + 1, which tells them as much.
//
// Cost, where nobody dies: the leader exchanges four bells and three pages with each other member, in seven turns.
// Memory: 6 lines of control memory up to 256 members, and a bit a member beyond.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/job/team.h"

namespace tutti {

struct consensus {
  std::uint64_t flags = 0;          // the AND of the flags of all members but the dead, and of some of the dead perhaps
  std::vector<std::uint32_t> dead;  // by index, ascending: died, left, or withdrew
};

class agreement {
 public:
  static std::uint32_t lines(std::uint32_t members) noexcept;  // of control memory, behind those of the engines
  explicit agreement(team&);
  ~agreement();
  agreement(const agreement&) = delete;
  agreement& operator=(const agreement&) = delete;

  // Collective over the members that live; the result is alike in all of them. All are among the dead who died before they
  // entered, or of whose death this team or an earlier agreement has told a survivor. The team is broken if there are any. Blocks.
  // Errors: peer_dead, naming this rank itself (the others took it for dead); protocol (a member freed the team instead); what
  // cuts this rank off from one that lives, named; after any, or an exception, this rank counts as dead here.
  result<consensus> agree(std::uint64_t flags);
  resumable<result<consensus>> agreeing(std::uint64_t flags);

  std::vector<std::uint32_t> dead() const;  // by the last agreement

  // Collective over the members that the last agreement found alive: their blobs, of up to
  // `longest_blob` bytes, by position among them. Ends with peer_dead where one has died meanwhile, perhaps not in all of them:
  // so another agreement follows. Blocks.
  static constexpr std::size_t longest_blob = 224;
  result<shared_blobs> exchange(std::span<const std::byte> mine);
  resumable<result<shared_blobs>> exchanging(std::vector<std::byte> mine);

 private:
  using words = std::vector<std::uint64_t>;
  enum class stage : std::uint64_t { entered = 1, proposes, adopted, decided, withdrawn };
  struct reading {
    completion done;
    words page;
  };

  std::uint32_t me() const noexcept { return team_.index(); }
  transport& net() noexcept { return team_.parent_job().net(); }
  bool over() const noexcept { return settled_ || error_.failed(); }
  bool lives(std::uint32_t i) const noexcept { return !(gone_[i / 64] >> i % 64 & 1); }
  void mark_dead(std::uint32_t i) noexcept { gone_[i / 64] |= std::uint64_t{1} << i % 64; }
  void learn_of_death(std::uint32_t i, const status& how) noexcept;
  bool look_whether_dead(std::uint32_t i) noexcept;
  bool in_value(std::uint32_t i) const noexcept;  // among the dead, by the value on my page
  std::vector<std::uint32_t> others() const;  // that live
  std::uint32_t leader() const noexcept;

  void publish(std::uint32_t line, std::span<const std::uint64_t> page) noexcept;
  void show(stage, std::uint32_t leader) noexcept;
  void enter(std::uint64_t flags);
  void withdraw() noexcept;
  status taken_for_dead() const;
  void join(const std::uint64_t* page) noexcept;
  void take(const std::uint64_t* page) noexcept;
  void look_at(std::uint32_t member, const std::uint64_t* page);
  static stage stage_of(const std::uint64_t* page) noexcept;
  bool is_mine(const std::uint64_t* page) const noexcept;
  void ring(const std::vector<std::uint32_t>& members);
  bool rung() noexcept;
  std::uint64_t bell() const noexcept;
  bool ask(std::uint32_t member, reading&, std::uint32_t line, std::size_t count) noexcept;
  void tell_who_is_late(std::uint32_t member) noexcept;

  template <class Take>
  resumable<bool> read(std::uint32_t line, std::size_t count, std::vector<std::uint32_t> missing, Take& take);
  resumable<bool> follow(std::uint32_t leader);
  resumable<bool> lead();
  resumable<result<shared_blobs>> fetch_table(std::uint32_t from, std::span<const std::byte> key, std::uint64_t bytes,
                                              std::size_t blobs);
  status spread_table(const blob_table&);
  void write_note(std::span<const std::byte> blob, std::uint64_t extent) noexcept;
  status given_up(std::uint32_t member) const;

  team& team_;
  const control_lines lines_;
  words gone_;                     // a bit a member: this rank knows it to be dead
  words mine_;                     // my page
  bool adopted_ = false;           // in this agreement: mine_ holds the value of some leader
  bool any_died_ = false;          // as this rank learnt by itself, in this agreement or before
  bool led_ = false;               // others may wait for my page
  bool settled_ = true;            // mine_ holds what was decided; false from entering on
  status error_;                   // of this rank, for good
  std::vector<std::uint32_t> due_; // members to ring
  completion rings_;
  std::unique_ptr<reading[]> readings_;
  std::size_t room_ = 0;           // of them
  exposed_memory table_;           // that the others read after an exchange which I led
  time_point began_, next_notice_;
};

}  // namespace tutti
