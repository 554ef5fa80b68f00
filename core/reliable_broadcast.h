// Payload from one member of a team to all others by an unreliable multicast: every fragment crosses the fabric once,
// whatever the number of members; what is lost is sent again, to one member by a put, to many by a second multicast.
// From Kini 2003, 5.4 and Birk 2006, 3.2 (errors are rare: no acknowledgement of what is right, a NAK for what is not)
// with the sliding window that payload needs and a release does not. The release itself is core/reliable_multicast.h.
//
// Numbers. Fragments are numbered through the life of the team in 64 bits: all members know how many each broadcast has
// (they pass the same number of bytes), so all know the number of its first, whoever the root. "Taken" by a member means:
// it lies in its caller's buffer.
//
// The window. At most `window` fragments may be sent that some member has not taken; a member's queue holds that many, so
// the root overruns nobody. Members tell what they have taken each quarter of a window (on a grid that all share, so that
// rounding does not add up on the way), up a tree of fan-in 8 that is the same whoever the root is: every member passes
// on the least of its own and its children's numbers, and member 0 tells the root. Why a tree: told directly, the root
// would take in n - 1 signals for each quarter of a window, more than it sends from some 16 members on. Why the same tree
// for every root: each word has one writer for ever, and member 0 knows the least at all times, so that a new root is
// told at once where it may begin.
//
// Safety.
//  - A word of the tree only grows: one writer, signals in order (core/transport.h, clause 5), numbers never used twice.
//    A root that was one long ago finds an old number in its word, which allows it less, never more, until member 0,
//    which remembers whom it told last, tells it anew.
//  - So whatever fragment a datagram carries, its number lies within `window` behind what each member has taken, or it was
//    taken there already. The 29 bits in its tag tell those apart: an old one would have to be 2^29 fragments late, half a
//    terabyte at least. What is taken already changes nothing: repeated and late datagrams are harmless. What is ahead of
//    the present broadcast comes from a root that is further than this member (it may be: it needs only the window) and is
//    kept aside, at most a window of it.
//  - A member complains only of what it knows was sent: a later fragment came, or the root's word `position` says so. A
//    root that hears nothing for longer than usual (core/arrival_timer.h) writes that word in all members; so the last
//    fragments can be lost like others, and nobody complains of a root that is merely slow, nor of another member that is.
//    That word may have several writers, and late ones may overwrite: it only ever speaks of what was sent, and is
//    repeated.
//  - A NAK is one word at the root: who, the first fragment's low bits, a map of 32 fragments. It may be overwritten by
//    another member's, or by the root's 0 as it reads it, or come when that rank is root no more: the member repeats it
//    while it misses anything, and asks the root of now. A NAK that is old or misread asks for something in the root's
//    window or it is ignored; what is sent for it bears its true number, and is at worst a duplicate.
//  - A repair is a put with a signal into the slot (number mod window) of the member. The slot's word has the number + 1 in
//    48 bits, which come again after 10^14 fragments, and is visible only behind the payload. The slot is written for a
//    later number only when this one was taken (the window), and by one put at a time: a root begins no repairs before the
//    earlier ones are complete at their targets, and does not return before its last are. So no late put falls upon a slot
//    in use, be it of another root.
//  - Nobody leaves too early. A member returns when it has taken all and its children's subtrees have told that they
//    have, and it has passed that on; the root, when all have and its repairs are complete. So nobody is needed after its
//    return, neither to pass anything on nor to repair, and the caller's buffer is touched during the call only: the
//    root's is read by this rank's CPU, the others' are written by it.
//  - Root and bytes that are not alike show before a member takes what is not meant. A datagram says whether it is the
//    last of its broadcast and how long it is, which both are as the member expects only if the numbers of bytes are the
//    same; a repair has a digest of that number. No bytes in some members alone make the call another than the root's: one
//    bit of a datagram shows that in the next broadcast. The member stops there, so the root waits in vain, as do others;
//    what ends that is core/broadcast_roll.h, if one was given.
//
// Storms. Members that miss the same fragment wait with their NAKs in the order of their numbers, for the time in which
// the root can take one in; the first few make it multicast again, and that silences the rest. Who repeats a NAK waits
// ever longer. Where fragments overtake each other, a member learns from complaints that were not needed to wait for some
// more fragments to come before it complains.
//
// Control memory of a member, all of it from open() on: 1664 bytes, and 2 * window * (fragment rounded up to 64) bytes for
// repairs, window * fragment <= 512 KiB; and window * fragment bytes kept aside for fragments that are early, touched only
// then. Nothing grows with the team.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/arrival_timer.h"
#include "core/broadcast_roll.h"
#include "core/broadcast_wire.h"
#include "core/multicast_group.h"
#include "core/window.h"

namespace tutti {

class reliable_broadcast {
 public:
  // Collective over the team, which must outlive it; blocks. All members get it, or all the same error: unsupported (no
  // multicast, a team of more than 65535), unavailable (some member could not form or join the group; it names it), those
  // of window::open. `first` is the number of the first fragment, for tests of the wrap.
  static result<std::unique_ptr<reliable_broadcast>> open(team&, std::uint64_t first = 1);
  ~reliable_broadcast();
  reliable_broadcast(const reliable_broadcast&) = delete;
  reliable_broadcast& operator=(const reliable_broadcast&) = delete;

  // Whoever waits looks there (all members, or none), and its calls are counted instead of run()'s. It must live on.
  void consult(broadcast_roll* roll) noexcept { roll_ = roll; }

  // Collective: `data` of member `root` comes to all others. `root` and the number of bytes must be alike. Blocks: the root
  // until all have it, the others until they do. No bytes: returns at once. Errors: invalid (no such root; nothing
  // happened), protocol (the root sends another number of bytes; with a roll: any member), peer_dead (named), timed_out.
  // After any but the first of these the engine is broken, and every later call gives the same error. Allocates nothing.
  // Cost: a datagram for each `fragment` bytes at the root, a copy out of the queue at each receiver; and at the end a way
  // up the tree, ceil(log_8 n) signals long.
  status run(std::uint32_t root, std::span<std::byte> data, time_point deadline = time_point::max());

  std::uint32_t fragment() const noexcept { return at_.fragment; }  // bytes of a datagram
  std::uint32_t window_size() const noexcept { return at_.window; } // fragments
  std::uint64_t control_bytes() const noexcept { return at_.bytes(); }

  struct counts {
    std::uint64_t datagrams = 0;          // this rank sent; of these
    std::uint64_t second_multicasts = 0;
    std::uint64_t repairs = 0;            // by puts
    std::uint64_t naks = 0;               // words this rank sent
    std::uint64_t positions = 0;          // times that this root told all how far it is
    std::uint64_t early = 0;              // fragments of a later broadcast kept aside
  };
  const counts& statistics() const noexcept { return counts_; }

 private:
  using wire = broadcast_wire::layout;
  reliable_broadcast(team&, std::vector<std::byte>& token);
  status prepare(std::uint64_t first, std::span<const std::byte> token);

  std::uint64_t load(std::uint64_t offset) const noexcept;
  void store(std::uint64_t offset, std::uint64_t value) noexcept;
  bool signal(std::uint32_t index, std::uint64_t offset, std::uint64_t value) noexcept;
  std::span<std::byte> bytes_of(std::uint64_t seq) const noexcept;    // of the present broadcast
  bool tell() noexcept;                                               // up the tree; true: the end was told
  bool step() noexcept;
  bool last(std::uint64_t seq) const noexcept { return seq + 1 == end_; }
  status look() noexcept;                                             // whether waiting has become hopeless

  // reliable_broadcast_root.cpp
  bool root_step() noexcept;
  void send_more() noexcept;
  void read_naks() noexcept;
  bool send_again() noexcept;
  bool send_repairs() noexcept;
  bool repairing() const noexcept { return !wanted_.empty() || again_ != 0; }
  std::uint64_t oldest() const noexcept { return reached(granted_, base_) ? granted_ : base_; }  // that may be missing
  void mind_silence() noexcept;
  void heard(time_point now) noexcept;

  // reliable_broadcast_member.cpp
  void begin_member() noexcept;
  bool member_step() noexcept;
  void take_datagrams() noexcept;
  void take_repairs() noexcept;
  void learn(std::uint64_t seq) noexcept;
  void be_patient() noexcept;
  void keep_aside(std::uint64_t seq, const multicast::datagram&) noexcept;
  void complain() noexcept;
  void ask(std::uint64_t missing, time_point now) noexcept;
  void send_naks() noexcept;
  bool has(std::uint64_t seq) const noexcept { return !reached(seq, next_) || (seen_ >> (seq - next_) & 1) != 0; }
  std::uint64_t missing_before(std::uint64_t limit) const noexcept;    // bit i: next_ + i is
  bool asking() const noexcept { return reached(asked_, next_ + 1); }  // and is not served yet
  void take(std::uint64_t seq, std::span<const std::byte> payload, bool meant) noexcept;
  std::uint32_t slot_of(std::uint64_t seq) const noexcept { return static_cast<std::uint32_t>(seq % at_.window); }

  struct repair {
    std::uint32_t index;
    std::uint64_t seq;
  };
  struct early_fragment {
    std::uint64_t seq = 0;
    rank_t from = no_rank;  // no_rank: none
    std::uint32_t bytes = 0, tag = 0;
  };

  team& team_;
  multicast_group group_;
  wire at_;
  std::unique_ptr<window> memory_;
  broadcast_roll* roll_ = nullptr;
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
  std::uint64_t sent_ = 0, granted_ = 0;   // first not sent; first that some member may not have taken
  std::vector<repair> wanted_;             // repairs of this turn; room for all that the NAK words can ask
  std::size_t put_ = 0;                    // of them, handed to the fabric
  bool flush_owed_ = false;                // to the member of the last put
  std::uint64_t again_ = 0;                // slots to multicast again
  std::array<std::uint16_t, broadcast_wire::most_window> asked_for_{};  // by slot: times since it was last multicast
  std::array<std::uint64_t, broadcast_wire::most_window> staged_{};    // by slot: the fragment in staging, + 1
  completion puts_;
  arrival_timer silence_;
  std::uint64_t heard_ = 0;                // granted_, when it last changed
  bool waiting_ = false;
  time_point said_{};                      // when it told its position; zero: not since it began to wait
  std::uint32_t position_left_ = 0;        // members that are still to be told

  // others
  std::uint64_t next_ = 0;                 // the first fragment not taken
  std::uint64_t seen_ = 0;                 // bit i: next_ + i is taken
  std::uint64_t high_ = 0;                 // behind the newest fragment that came
  std::uint64_t known_ = 0;                // behind the newest fragment that the root says was sent
  time_point known_since_{};
  std::uint64_t asked_ = 0;                // holes before it were complained of
  struct complaint {
    time_point at{};
    std::uint32_t times = 0;
  };
  std::array<complaint, broadcast_wire::most_window> complaints_{};  // by slot: of the holes before asked_
  time_point due_{};                       // of the next complaint of new ones; zero: none
  std::chrono::nanoseconds turn_{};        // this member's among those who miss the same
  arrival_timer repairs_;                  // how long they take
  std::uint32_t tolerance_ = 0, patient_ = 0;  // fragments that may overtake one; repairs so far, by which that is lowered
  std::chrono::nanoseconds overtaking_{10'000};  // by how much the root's word may overtake a fragment
  std::array<std::uint64_t, broadcast_wire::naks_at_once> naks_owed_{};  // that the fabric has not taken yet; 0: none
  std::uint32_t way_ = 0;                  // of the next NAK
  std::array<early_fragment, broadcast_wire::most_window> early_{};
  std::unique_ptr<std::byte[]> early_bytes_;
};

}  // namespace tutti
