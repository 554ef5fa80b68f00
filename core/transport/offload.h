// Schedules that the fabric runs, an optional interface of a transport (transport::offloader()).
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/blob_table.h"
#include "core/base/rank_map.h"
#include "core/base/status.h"
#include "core/schedule/schedule.h"

namespace tutti {

// The fabric runs a schedule by itself. The program starts an epoch by one addition to a counter of its adapter, computes, and
// looks at memory at the end (Buntinas 2001). Whether a transport has this interface is known once the transport is open, and is
// alike in all ranks of a job on like machines: an engine that relies on it first exchanges the members' answers.
//
// A plan is one rank's part of a schedule, made ready to be run by a group again and again. Making a plan takes two
// steps, and core moves blobs between the ranks in between, as with keys. The plan owns the words that its peers write: they are
// no part of a segment.
//
// Epochs of a plan are numbered from first_epoch, without a gap, through the wrap of 64 bits. A rank starts them in order;
// an epoch's signals leave as the schedule says, with no call of any rank in between, whatever the program does meanwhile
// (clause 8 does not apply, not even where caps().target_must_progress). So an epoch is finished here only when all waits of
// this rank's schedule have been satisfied by signals of that epoch or a later one. A finished epoch says no more than that: it is
// no flush, and orders nothing that went by submit().
class offload {
 public:
  enum class plan_id : std::uint32_t {};
  struct limits {
    std::uint32_t max_plans;  // at once
    std::uint32_t ahead;      // epochs of a plan that are started and not finished, at most
    std::uint32_t queued;     // epochs of a plan whose work waits in the fabric to be started, at most
  };
  virtual ~offload() = default;
  virtual limits query() const noexcept = 0;
  // `blob` goes to every member. Errors: unsupported (a step that cannot be offloaded, by name: signals and waits of
  // multiple 1 can), no_resource (counters, memory, plans).
  virtual result<plan_id> prepare(const schedule&, const rank_map& members, std::uint64_t first_epoch,
                                  std::vector<std::byte>& blob) = 0;
  // Everyone's blob, in the group's order. Nobody may start before all have returned from it. Errors: protocol (blobs of
  // another schedule or version), fabric.
  virtual status connect(plan_id, shared_blobs blobs) = 0;
  // Hands work to the fabric until `epochs` that have not been started wait there, or as many as can. Returns how many do.
  // This is what the host pays for an epoch; start() does it for one where none waits.
  virtual std::uint32_t queue(plan_id, std::uint32_t epochs) noexcept = 0;
  // Starts the next epoch. False: limits().ahead are started and not finished, or the fabric is full: call progress(),
  // offer it again.
  [[nodiscard]] virtual bool start(plan_id) noexcept = 0;
  // How many epochs are finished here, in order, of those started: a load for each wait of the schedule. The end of an
  // epoch ends a sleep (clause 9).
  virtual std::uint64_t finished(plan_id) noexcept = 0;
  // Whose signal is missing, by index in the group: of several, any. any_peer: none is.
  virtual std::uint32_t awaits(plan_id) noexcept = 0;
  // Success, or the first error that the fabric met: the plan will then not finish. A dead peer need not show here, but
  // does by health(). With it, plans may stop of which it is no member; new ones run where all members have dropped those of
  // which it is one. For when a wait has lasted long.
  virtual status outcome(plan_id) noexcept = 0;
  // With epochs queued or started too. Peers may still need signals of an epoch that is finished here: blocks until they
  // have left, for a second at most. What was started and has not finished may be lost.
  virtual void drop(plan_id) noexcept = 0;
};

}  // namespace tutti
