// Reliable release by an unreliable multicast: Kini 2003, 5.4 and Birk 2006, 3.2. The root multicasts the number of an
// epoch; in the common case nothing else is sent, no acknowledgement ever. A member that has waited too long sends the
// root a NAK, and the root repairs: to one member by a reliable signal, to many by a second multicast.
//
// Safety.
//  - A datagram carries its epoch. A member takes the newest epoch it ever saw; repeated and late datagrams name old
//    epochs and change nothing, so a stale one cannot release a later barrier.
//  - A NAK is two signals to the root: a name that says who and which epoch, set in one of a few words, and a counter,
//    added to after it. Names may overwrite each other; the counter tells that some were lost, and then the root
//    multicasts again. A member repeats its NAK until it is served, under a new name, so even that may be lost. A NAK
//    for an epoch that the root has not released yet is kept until it has, and answered then: who has waited for long
//    need not find out in as much time again that the datagram was lost.
//  - A repair is a signal of the root's newest epoch into the member's own word, which only grows (one writer, in
//    order). A repair that comes late, or twice, is old news.
//  - The root that has left the barrier answers all the same (Birk's argument): the member that lacks epoch e has not
//    entered epoch e + 1, so no later epoch can complete without it, and the root serves NAKs whenever it makes
//    progress, above all while it waits in any later barrier. The last epoch of a job is followed by finalize, whose
//    closing barrier does not multicast and in which the root still serves.
//  - Members of the group other than the root send no datagrams; one that names another sender is ignored.
//
// Storms. When many members miss the same datagram, their NAKs are spread over a time in which the root can take them
// in, by the members' numbers; the first few of them make the root multicast again, beside the repairs to those few, and
// that silences the rest. Each member doubles its patience with every NAK (core/arrival_timer.h).
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/arrival_timer.h"
#include "core/team.h"

namespace tutti {

class reliable_multicast final : public background {
 public:
  // Made in two halves, between which the root's token travels by whatever exchange there is. The first forms the group
  // in the root and gives out its token, empty if that failed; accept() takes the root's token in every member and says
  // what went wrong in either half. Errors of accept(): unsupported, the transport has no multicast; unavailable, the
  // root could not form the group; the transport's own. Nobody may multicast before all have accepted: the NAKs would mend
  // it, at the price of a timeout each.
  reliable_multicast(team&, std::uint32_t root, std::uint64_t first_epoch, std::vector<std::byte>& token);
  status accept(std::span<const std::byte> token);
  ~reliable_multicast() override;

  // Root: releases `epoch`. False: the fabric is full, try again.
  bool send(std::uint64_t epoch) noexcept;
  // Others: whether `epoch` was released. Each call looks at what came, and at the clock when nothing did.
  bool arrived(std::uint64_t epoch) noexcept;
  void advance() noexcept override;  // root: answers NAKs

  struct counts {
    std::uint64_t datagrams = 0, naks = 0, repairs = 0, second_multicasts = 0;
  };
  const counts& statistics() const noexcept { return counts_; }

 private:
  static constexpr std::uint32_t nak_words = 8;
  bool cast(std::uint64_t epoch, bool again) noexcept;
  std::uint64_t name(std::uint32_t word) const noexcept;
  bool repair(std::uint32_t index) noexcept;
  void note_loss() noexcept;
  std::uint32_t few() const noexcept;
  void send_nak(std::uint64_t epoch) noexcept;

  team& team_;
  std::uint32_t root_;
  multicast* mc_ = nullptr;
  multicast::group_id group_{};
  bool joined_ = false;
  status trouble_;                    // of the first half
  std::uint64_t released_;            // root: newest epoch sent; others: newest seen
  // others
  arrival_timer timer_;
  std::uint64_t awaited_;                  // the epoch being waited for
  bool typical_ = false, helped_ = false;  // how the newest epoch came: as sent first, by a repair
  std::chrono::nanoseconds late_{};        // as its datagram said
  unsigned nak_owed_ = 0;                  // signals of the NAK that the fabric has not taken yet
  // root
  std::uint64_t naks_seen_ = 0;
  std::int64_t unnamed_ = 0;               // counted and not named; below 0: named and not counted yet
  bool pending_ = false;                   // some of them are not answered yet
  std::array<std::uint64_t, nak_words> names_answered_{}, names_early_{};  // the latter came before the release
  std::uint32_t repairs_ = 0, again_at_ = 0;   // of the newest epoch; how many are enough for a second multicast
  time_point released_at_{};
  std::chrono::nanoseconds repaired_after_{};  // the release, the last time
  counts counts_;
};

}  // namespace tutti
