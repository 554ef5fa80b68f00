#include "collectives/barrier/offloaded_run.h"

#include "core/transport/offload.h"

namespace tutti {
namespace {

constexpr std::uint32_t stock = 16;  // epochs that wait in the fabric

}  // namespace

std::unique_ptr<offloaded_run> offloaded_run::offer(team& t, const schedule& s, std::uint64_t first_epoch,
                                                    std::vector<std::byte>& blob) {
  std::unique_ptr<offloaded_run> r(new offloaded_run(t, first_epoch));
  blob.clear();
  offload* fabric = t.parent_job().net().offloader();
  if (!fabric) {
    r->trouble_ = {errc::unsupported, "the transport runs no schedules by itself; ofi:sockets does, see tutti info"};
    return r;
  }
  auto plan = fabric->prepare(s, t.members(), first_epoch, blob);
  if (!plan) {
    r->trouble_ = plan.error();
    return r;
  }
  r->fabric_ = fabric, r->plan_ = *plan;
  return r;
}

status offloaded_run::accept(shared_blobs blobs) {
  if (trouble_.failed()) return trouble_;
  if (const status s = fabric_->connect(plan_, std::move(blobs)); s.failed()) return s;
  fabric_->queue(plan_, stock);
  return {};
}

offloaded_run::~offloaded_run() {
  if (fabric_) fabric_->drop(plan_);
}

bool offloaded_run::start(std::uint64_t epoch) noexcept {
  for (const std::uint64_t wanted = epoch - first_ + 1; started_ < wanted; ++started_) {
    if (!fabric_->start(plan_)) return false;
    fabric_->queue(plan_, stock);
  }
  return true;
}

}  // namespace tutti
