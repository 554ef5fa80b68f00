// Payload from one member of a team to all others by an unreliable multicast: every fragment crosses the fabric once,
// whatever the number of members. After Kini 2003, 5.4 and Birk 2006, 3.2 (errors are rare: no acknowledgement of what is
// right), with the sliding window that payload needs and a release does not. The root publishes each fragment in its own
// memory before it multicasts it, and a member that misses some reads them there (core/engine/published_number.h): nothing is
// asked of the root, and it sends nothing twice. The release itself is core/engine/reliable_multicast.h.
//
// Numbers. Fragments are numbered through the life of the team in 64 bits: all members know how many each broadcast has
// (they pass the same number of bytes), so all know the number of its first, whoever the root. "Taken" by a member means:
// it lies in its caller's buffer.
//
// The window. At most `window` fragments may be published that some member has not taken; a member's queue holds that many,
// so the root overruns nobody, and the root has a slot for each. Members tell what they have taken each quarter of a window
// (on a grid that all share, so that rounding does not add up on the way), up a tree of fan-in 8 that is the same whoever
// the root is: every member passes on the least of its own and its children's numbers, and member 0 tells the root. Why a
// tree: told directly, the root would take in n - 1 signals for each quarter of a window, more than it sends from some 16
// members on. Why the same tree for every root: each word has one writer for ever, and member 0 knows the least at all
// times, so that a new root is told at once where it may begin.
//
// Whose a slot is. The root copies fragment s into slot (s mod window), before it a word with s + 1 and a digest of the
// broadcast, then multicasts, then sets its position to s + 1. It writes the slot again for s + window, not before the tree
// has told it that all members have taken s. So while some member lacks s the slot holds s and does not change.
//
// Safety.
//  - A word of the tree only grows: one writer, signals in order (core/transport/transport.h, clause 5), numbers never used twice.
//    A root that was one long ago finds an old number in its word, which allows it less, never more, until member 0,
//    which remembers whom it told last, tells it anew. If such a signal is lost for good, its completion says so, and the
//    broadcast ends with that error in the team (team::fail_if_lost).
//  - Whatever fragment a datagram carries, its number lies within `window` behind what each member has taken, or it was
//    taken there already. The 30 bits in its tag tell those apart: an old one would have to be 2^30 fragments late, a
//    terabyte at least. What is taken already changes nothing: repeated and late datagrams are harmless. What is ahead of
//    the present broadcast comes from a root that is further than this member (it may be: it needs only the window) and is
//    kept aside, at most a window of it.
//  - Any member's position says truly that all fragments before it have been published, each by its own root: who is root
//    of a later broadcast has taken all of the earlier ones. So an answer may be late, or come from whoever was root before.
//  - A member reads slot s only once it knows that s was published: by a later fragment of this root, or by a position. It
//    takes what it read only if it still lacks s when the read has ended; then it lacked s all the time, and the slot held s
//    all the time. If s came by a datagram meanwhile the slot may have changed under the read, and what landed is dropped.
//    A landing slot is written by this member's reads alone, one round of them at a time, and looked at only for what that
//    round asked for.
//  - Nobody leaves too early. A member returns when it has taken all and its children's subtrees have told that they have,
//    and it has passed that on; the root, when all have. So nobody is needed after its return: where gets wait for their
//    target's progress (caps().target_must_progress) the root gives it, since it is in this call as long as anyone misses
//    anything, and need not be avoided there as a multicast barrier is. The caller's buffer is touched during the call
//    only, by this rank's CPU. A read that is still under way then is of a fragment that came by itself, and lands in memory
//    of this engine, which waits for it before that goes.
//  - Root and bytes that are not alike show before a member takes what is not meant. A datagram says whether it is the
//    last of its broadcast and how long it is, which both are as the member expects only if the numbers of bytes are the
//    same; a slot has a digest of that number. No bytes in some members alone make the call another than the root's: one
//    bit of a datagram shows that in the next broadcast. The member stops there, so the root waits in vain, as do others;
//    what ends that is collectives/call_record.h, if one was given. Who reads at a rank that is no root finds a position that
//    tells it nothing new.
//  - A dead root ends the reads of whoever misses something with peer_dead, and is found by the looks of those who only
//    wait; the root looks after all members, members after the ranks of team::look. Any other error of a read or of a
//    signal ends the broadcast as well.
//
// When to read. A fragment that came shows that those before it were sent: what is missing there is read at once, unless
// fragments are seen to overtake each other; then so many more must have come first. If nothing comes for longer than usual
// (core/engine/arrival_timer.h) the member reads the root's position, and with it what it knows to be missing; so the last
// fragments may be lost like others. One round of reads at a time; what is lost meanwhile is in the next. A member that
// waits for others, a late root say, reads the position in vain, ever more rarely: nobody but itself has work of that.
// Many members that miss the same fragment read it each for itself: the root's adapter sends it once for each.
//
// Memory of a member, all of it from open() on: 704 bytes, and 2 * window slots (8 bytes and a fragment, rounded up to 64)
// to publish and to land in, window * fragment <= 512 KiB; and window * fragment bytes kept aside for fragments that are
// early, touched only then. Nothing grows with the team or with the number of bytes.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/call_record.h"
#include "collectives/unscheduled.h"
#include "core/job/team_memory.h"
#include "collectives/bcast/broadcast_wire.h"
#include "core/engine/multicast_group.h"
#include "core/engine/published_number.h"
#include "core/transport/multicast.h"

namespace tutti {

class reliable_broadcast final : public unscheduled {
 public:
  // Collective over the team, which must outlive it. All members get it, or all the same error: unsupported (no multicast),
  // unavailable (some member could not form or join the group; it names it), no_resource. `fragment` and `depth`: of
  // multicast::limits, agreed by all members. `agreement`: as expose_together(). `first` is the number of the first fragment, for tests of the wrap.
  static resumable<result<std::unique_ptr<reliable_broadcast>>> opening(team&, std::uint32_t fragment, std::uint32_t depth,
                                                                        std::vector<std::byte> agreement, std::uint64_t first = 1);
  // The same with limits that are agreed here; blocks.
  static result<std::unique_ptr<reliable_broadcast>> open(team&, std::uint64_t first = 1);
  ~reliable_broadcast() override;
  reliable_broadcast(const reliable_broadcast&) = delete;
  reliable_broadcast& operator=(const reliable_broadcast&) = delete;

  // Whoever waits looks there: all members, or none. It must live on.
  void consult(call_record* record) noexcept { record_ = record; }

  // Collective: `data` of member `root` comes to all others. `root` and the number of bytes must be alike. Blocks: the root
  // until all have it, the others until they do. No bytes: returns at once. Errors: invalid (no such root; nothing
  // happened), protocol (the root sends another number of bytes; with a record: any member), peer_dead (named), timed_out,
  // those of an operation that failed. After any but the first of these the engine is broken, and every later call gives
  // the same error. Allocates nothing. Cost: a copy and a datagram for each `fragment` bytes at the root, a copy out of the
  // queue at each receiver; and at the end a way up the tree, ceil(log_8 n) signals long.
  status run(std::uint32_t root, std::span<std::byte> data, time_point deadline = time_point::max());

  // The same in parts. begin() only when advance() has said of the one before that it is over; there are bytes, and the root is a
  // member.
  // `call`: the number of the collective call, alike in all.
  void begin(std::uint32_t root, std::span<std::byte> data, std::uint64_t call) noexcept;
  bool advance(status& error) noexcept override;
  status look() noexcept override;
  void cancel(const status&) noexcept override;
  status explained(const status& error) override;
  wait_note waiting_for() const noexcept override;

  std::uint32_t fragment() const noexcept { return at_.fragment; }  // bytes of a datagram
  std::uint32_t window_size() const noexcept { return at_.window; } // fragments
  std::uint64_t control_bytes() const noexcept { return at_.bytes(); }

  struct counts {
    std::uint64_t datagrams = 0;  // this rank sent
    std::uint64_t queries = 0;    // reads of a root's position
    std::uint64_t reads = 0;      // of fragments; of these
    std::uint64_t repairs = 0;    // brought what was still missing
    std::uint64_t early = 0;      // fragments of a later broadcast kept aside
  };
  const counts& statistics() const noexcept { return counts_; }

 private:
  using wire = broadcast_wire::layout;
  reliable_broadcast(team&, std::vector<std::byte>& token);

  std::uint64_t load(std::uint64_t offset) const noexcept;
  void store(std::uint64_t offset, std::uint64_t value) noexcept;
  bool signal(std::uint32_t index, std::uint64_t offset, std::uint64_t value) noexcept;
  std::span<std::byte> bytes_of(std::uint64_t seq) const noexcept;    // of the present broadcast
  bool last(std::uint64_t seq) const noexcept { return seq + 1 == end_; }
  bool tell() noexcept;                                               // up the tree; true: the end was told
  bool step() noexcept;
  bool root_step() noexcept;
  void stage(std::uint64_t seq) noexcept;
  void failed(const status&, const char* what) noexcept;

  // reliable_broadcast_member.cpp
  void begin_member() noexcept;
  bool member_step() noexcept;
  void take_datagrams() noexcept;
  void keep_aside(std::uint64_t seq, const multicast::datagram&) noexcept;
  void repair() noexcept;
  void take_repairs(const status& how) noexcept;
  void read(std::uint64_t limit, std::uint64_t missing) noexcept;
  bool has(std::uint64_t seq) const noexcept { return !reached(seq, next_) || (seen_ >> (seq - next_) & 1) != 0; }
  std::uint64_t missing_before(std::uint64_t limit) const noexcept;    // bit i: next_ + i is
  void take(std::uint64_t seq, std::span<const std::byte> payload, bool meant) noexcept;
  std::uint32_t slot_of(std::uint64_t seq) const noexcept { return static_cast<std::uint32_t>(seq % at_.window); }

  struct early_fragment {
    std::uint64_t seq = 0;
    rank_t from = no_rank;  // no_rank: none
    std::uint32_t bytes = 0, tag = 0;
  };

  team& team_;
  multicast_group group_;
  wire at_;
  exposed_memory memory_;
  std::optional<published_number> position_;
  completion told_all_;                    // of the signals up the tree
  call_record* record_ = nullptr;
  status broken_;
  counts counts_;

  // of the present broadcast
  std::uint32_t root_ = 0;
  std::span<std::byte> data_;
  std::uint64_t base_ = 0, end_ = 0;       // its fragments; between broadcasts base_ == end_
  std::uint64_t call_ = 0;                 // its number
  std::uint16_t digest_ = 0;
  std::uint64_t told_ = 0;                 // up the tree, or to the root by member 0
  std::uint32_t told_to_ = ~0u;
  std::uint32_t first_child_ = 0, children_ = 0;

  // root
  std::uint64_t staged_ = 0, sent_ = 0;    // first that is not
  std::uint64_t granted_ = 0;              // first that some member may not have taken

  // others
  std::uint64_t next_ = 0;                 // the first fragment not taken
  std::uint64_t seen_ = 0;                 // bit i: next_ + i is taken
  std::uint64_t high_ = 0;                 // behind the newest fragment that came
  std::uint64_t known_ = 0;                // behind the newest fragment that a position says was published
  std::uint64_t asked_ = 0;                // holes before it were read, or are being
  std::uint64_t arrivals_ = 0;             // fragments taken, ever
  std::uint64_t round_ = 0, round_from_ = 0;  // bit i: round_from_ + i is being read
  std::uint32_t tolerance_ = 0;            // fragments that may overtake one
  std::array<early_fragment, broadcast_wire::most_window> early_{};
  std::unique_ptr<std::byte[]> early_bytes_;
};

}  // namespace tutti
