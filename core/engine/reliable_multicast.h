// Reliable release by an unreliable multicast (Kini 2003, 4.3 and 5.4; Birk 2006, 3.2): the root multicasts the number of
// an epoch, with a few bytes if need be; in the common case nothing else is sent, no acknowledgement ever. Before that it
// stores the number in its own memory. A member that has waited too long reads it there, by a get: either the epoch was
// released, and the member knows it now, or it was not, and the member waits on. The papers' NAK asks the root to send
// again, so Kini must wake it by an event; here the root need not do anything, and may be anywhere in its program.
//
// Safety. What the two have in common stands in core/engine/published_number.h.
//  - The root's number only grows, and a number says that this epoch and all before it were released. So whatever a
//    member learns of it is true for ever, however late or often: by a datagram, by the same multicast again, by a get that
//    was asked for long ago. A stale one names an old epoch and releases nothing.
//  - A datagram is from the root or it is ignored. Its bytes count only with the number that is awaited.
//  - The last epoch needs no other care: the root's memory is there until the team settles.
//  - What a member says to the root after a repair, one added to a counter, is a hint: lost, late or repeated it makes
//    the root multicast again in vain or not at all.
//
// How late. A member that lost a release leaves one round trip after it lost patience, two where bytes have to be
// fetched, and it loses patience again each 10 ms at least (core/engine/arrival_timer.h). Where the fabric reads memory by itself,
// or a thread makes progress for the root (caps().progress_thread), that holds whatever the root does. Where reads wait for
// the target's progress (caps().target_must_progress), the loser is held until the root's next call, of whatever kind;
// nobody else could help it, for members that have left make no calls either. So nothing chooses a multicast release by
// itself on such a fabric (collectives/choose.cpp, bsp/open.cpp).
//
// Storms. When many miss the same datagram they lose patience one after the other, by their numbers; once a few have
// found out, the root multicasts again if it makes progress, and that silences the rest.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/engine/multicast_group.h"
#include "core/transport/multicast.h"
#include "core/transport/ops.h"
#include "core/engine/published_number.h"

namespace tutti {

class reliable_multicast final : public background {
 public:
  // The two halves of making one, as of the group (core/engine/multicast_group.h); errors are the group's. All begin with
  // first_epoch - 1 released. `room`: bytes that go with a release at most. The group's limits must allow for them.
  reliable_multicast(team&, std::uint32_t root, std::uint64_t first_epoch, std::vector<std::byte>& token,
                     const published_lines&, std::uint32_t room = 0);
  status accept(std::span<const std::byte> token);
  status form(std::span<const std::byte> token);
  ~reliable_multicast() override;

  // Root: releases `epoch`, with the first `bytes` of body(), which was written before. False: the fabric is full, try
  // again with the same.
  bool send(std::uint64_t epoch, std::uint32_t bytes = 0) noexcept;
  // Others: whether `epoch` was released. Each call looks at what came, and at the clock when nothing did.
  bool arrived(std::uint64_t epoch) noexcept;
  // Root: where to write what goes with the next release. Others, once one has arrived and until the next call: what came
  // with it; nothing, if its datagram was lost.
  std::span<std::byte> body() noexcept { return std::span(letter_).subspan(head_bytes); }
  std::span<const std::byte> received() const noexcept { return received_; }
  void advance() noexcept override;  // root: whether many have lost the newest

  multicast::limits limits() const noexcept { return group_.limits(); }
  static constexpr std::uint32_t head_bytes = 24;  // of a datagram, before the body

  struct counts {
    std::uint64_t datagrams = 0, second_multicasts = 0;  // the latter among the former
    std::uint64_t queries = 0;                           // reads of the root's number; of these
    std::uint64_t repairs = 0;                           // found that it was released
  };
  const counts& statistics() const noexcept { return counts_; }

 private:
  bool cast(bool again) noexcept;
  void see_told(time_point now) noexcept;
  void listen(std::uint64_t epoch) noexcept;
  void see_answer(std::uint64_t epoch) noexcept;
  std::uint32_t few() const noexcept;

  team& team_;
  published_lines lines_;
  multicast_group group_;
  std::uint64_t released_;             // root: newest epoch sent; others: newest known
  std::vector<std::byte> letter_;      // root: the newest datagram
  counts counts_;
  // others
  std::span<const std::byte> received_;
  bool repaired_ = false;              // the newest epoch did not come as it was sent first
  published_number number_;
  // root
  time_point released_at_{};
  std::chrono::nanoseconds late_{};    // its last repair that is known, after it
  std::uint64_t told_ = 0, told_before_ = 0;  // repairs that members told of: seen; those of earlier epochs
  std::uint32_t sent_bytes_ = 0, again_at_ = 0;  // of the newest; how many repairs are enough for a second multicast
};

}  // namespace tutti
