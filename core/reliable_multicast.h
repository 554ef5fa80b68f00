// Reliable release by an unreliable multicast: Kini 2003, 5.4 and Birk 2006, 3.2. The root multicasts the number of an
// epoch; in the common case nothing else is sent, no acknowledgement ever. A member that has waited too long sends the
// root a NAK, and the root repairs: to one member by a reliable signal, to many by a second multicast.
//
// Safety.
//  - A datagram carries its epoch. A member takes the newest epoch it ever saw; repeated and late datagrams name old
//    epochs and change nothing, so a stale one cannot release a later barrier.
//  - A NAK is two words at the root: a counter, added to, and a word that names the sender and its epoch, set. NAKs may
//    overwrite each other's name; the counter tells that some were lost, and then the root multicasts again. A member
//    repeats its NAK until it is served, so even that may be lost. A NAK for an epoch that the root has not released
//    yet was sent too early and is dropped: the release is still to come, and if that is lost there will be another NAK.
//  - A repair is a signal of the root's newest epoch into the member's own word, which only grows (one writer, in
//    order). A repair that comes late, or twice, is old news.
//  - The root that has left the barrier answers all the same (Birk's argument): the member that lacks epoch e has not
//    entered epoch e + 1, so no later epoch can complete without it, and the root serves NAKs whenever it makes
//    progress, above all while it waits in any later barrier. The last epoch of a job is followed by finalize, whose
//    closing barrier does not multicast and in which the root still serves.
//  - Members of the group other than the root send no datagrams; one that names another sender is ignored.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

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
  void send_nak(std::uint64_t epoch) noexcept;
  void learn(std::chrono::nanoseconds wait) noexcept;

  team& team_;
  std::uint32_t root_;
  multicast* mc_ = nullptr;
  multicast::group_id group_{};
  bool joined_ = false;
  status trouble_;                    // of the first half
  std::uint64_t released_;            // root: newest epoch sent; others: newest seen
  // others: when to lose patience
  std::uint64_t awaited_;             // the epoch being waited for
  time_point since_{};                // the first unsuccessful look for it
  time_point nak_at_{};
  std::chrono::nanoseconds patience_{};    // of the current wait, doubled by each NAK
  double mean_ns_, deviation_ns_;          // of the time from looking to arrival
  unsigned nak_owed_ = 0;                  // signals of the NAK that the fabric has not taken yet
  // root
  std::uint64_t naks_seen_ = 0;
  counts counts_;
};

}  // namespace tutti
