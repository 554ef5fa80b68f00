// The transport's offload: plans of deferred work (deferred.h), and what becomes of them when a peer dies.
//
// Work for a dead peer can stop all plans upon an endpoint (quirks.h, work for the dead). What shows it is a plan that was
// dropped while signals of its were under way. From then on new plans are made upon another domain, with an endpoint, counters
// and a thread of its own, that nobody dead has any work in. The blob of a plan names the endpoint, so that ranks may change
// domains each in its own time. The old one serves the plans that it has, as far as it can, and is closed with the last of them.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/transport/offload.h"
#include "providers/ofi/deferred.h"

namespace tutti::ofi {

class schedule_runner final : public offload {
 public:
  // Unsupported or unavailable: why this provider cannot.
  static result<std::unique_ptr<schedule_runner>> open(const std::string& provider);
  ~schedule_runner() override;

  limits query() const noexcept override { return domains_.back()->query(); }
  result<plan_id> prepare(const schedule&, const rank_map&, std::uint64_t, std::vector<std::byte>&) override;
  status connect(plan_id id, shared_blobs blobs) override { return at(id).in->connect(at(id).there, std::move(blobs)); }
  std::uint32_t queue(plan_id id, std::uint32_t n) noexcept override { return at(id).in->queue(at(id).there, n); }
  bool start(plan_id id) noexcept override { return at(id).in->start(at(id).there); }
  std::uint64_t finished(plan_id id) noexcept override { return at(id).in->finished(at(id).there); }
  std::uint32_t awaits(plan_id id) noexcept override { return at(id).in->awaits(at(id).there); }
  status outcome(plan_id id) noexcept override { return at(id).in->outcome(at(id).there); }
  void drop(plan_id) noexcept override;

  int wait_fd() const noexcept { return fd_; }  // an epoll of all domains' descriptors
  unsigned progress() noexcept;
  bool arm() noexcept;

 private:
  struct placed {
    std::shared_ptr<deferred> in;               // null: free
    plan_id there{};
  };
  explicit schedule_runner(std::string provider) : provider_(std::move(provider)) {}
  status open_domain();
  placed& at(plan_id id) noexcept { return plans_[static_cast<std::uint32_t>(id)]; }

  std::string provider_;
  std::vector<std::shared_ptr<deferred>> domains_;  // new plans go to the last
  std::vector<placed> plans_;
  int fd_ = -1;
};

}  // namespace tutti::ofi
