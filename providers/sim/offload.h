// Schedules that run in the adapter of a virtual rank (core/transport/transport.h, offload). The adapter takes the steps of one epoch
// after the other: a signal leaves as a message does, but costs no processor anything, and a wait looks at a word of the
// plan's own. The rank pays one o to start an epoch and one for each that it queues.
#pragma once
#include "core/schedule/schedule.h"
#include "core/transport/offload.h"
#include "providers/sim/fabric.h"

namespace tutti::sim {

class rank_transport;

class rank_offload final : public offload {
 public:
  explicit rank_offload(rank_transport& owner) noexcept : owner_(owner) {}
  limits query() const noexcept override { return {64, 4, 64}; }
  result<plan_id> prepare(const schedule&, const rank_map&, std::uint64_t, std::vector<std::byte>&) override;
  status connect(plan_id, shared_blobs) override;
  std::uint32_t queue(plan_id, std::uint32_t) noexcept override;
  bool start(plan_id) noexcept override;
  std::uint64_t finished(plan_id) noexcept override;
  std::uint32_t awaits(plan_id) noexcept override;
  status outcome(plan_id) noexcept override { return {}; }
  void drop(plan_id) noexcept override;

  // A start or a signal has come to the adapter.
  void arrived(const nic_message&, ns at) noexcept;

 private:
  struct plan {
    schedule steps;
    rank_map members;
    std::uint64_t first = 1;
    std::vector<std::uint32_t> far;     // by step: the name of its peer's plan
    std::vector<std::uint64_t> words;   // the newest epoch that was signalled
    std::uint64_t queued = 0, started = 0;                  // what the rank did
    std::uint64_t seen = 0, finished = 0;                   // what the adapter knows of and has done
    std::uint64_t told = 0;                                 // and what of it the rank has been told
    std::size_t at = 0;                                     // its step in epoch first + finished
  };
  void run(std::uint32_t name, ns at) noexcept;

  rank_transport& owner_;
  std::map<std::uint32_t, plan> plans_; // by name, used once
  std::uint32_t next_ = 0;
};

}  // namespace tutti::sim
