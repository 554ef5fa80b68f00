// A barrier's schedule in the fabric's hands: the epochs that its program asked for are started, and seen to finish.
//
// Work for some epochs always waits in the fabric. What is used up by a start is queued again right behind it, when the
// barrier is on its way already: the host pays for it while it would wait, and starting stays one addition.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/job/team.h"
#include "core/transport/offload.h"

namespace tutti {

class offloaded_run {
 public:
  // Two halves, as team_barrier's: trouble of one member's offer() shows in accept() of all that need it.
  static std::unique_ptr<offloaded_run> offer(team&, const schedule&, std::uint64_t first_epoch, std::vector<std::byte>& blob);
  status accept(shared_blobs);
  ~offloaded_run();
  offloaded_run(const offloaded_run&) = delete;
  offloaded_run& operator=(const offloaded_run&) = delete;

  // Starts epochs up to this one. False: not all of them yet, call again after progress().
  bool start(std::uint64_t epoch) noexcept;
  std::uint64_t completed() noexcept { return first_ - 1 + (fabric_ ? fabric_->finished(plan_) : 0); }
  std::uint32_t awaits() const noexcept { return fabric_->awaits(plan_); }
  status outcome() noexcept { return fabric_->outcome(plan_); }

 private:
  explicit offloaded_run(team& t, std::uint64_t first_epoch) noexcept : team_(t), first_(first_epoch) {}

  team& team_;
  const std::uint64_t first_;
  std::uint64_t started_ = 0;       // epochs
  offload* fabric_ = nullptr;       // null: prepare() failed
  offload::plan_id plan_{};
  status trouble_;
};

}  // namespace tutti
