#include "tests/doubles/fault_transport.h"

#include <string>

#include "core/transport/multicast.h"
#include "tests/doubles/faulty_multicast.h"
#include "tests/doubles/faulty_two_sided.h"

namespace tutti {

bool fault_dice::roll(double chance) noexcept {
  if (chance <= 0 || static_cast<double>(random_() >> 11) * 0x1p-53 >= chance) return false;
  ++faults;
  return true;
}

bool fault_dice::roll(double chance, unsigned& in_a_row) noexcept {
  const bool fault = in_a_row < plan.patience && roll(chance);
  in_a_row = fault ? in_a_row + 1 : 0;
  return fault;
}

status fault_dice::setup_call(const char* name) {
  if (++setup_calls != plan.fail_setup) return {};
  return {errc::no_resource, "set-up call " + std::to_string(setup_calls) + " (" + name + ") was made to fail"};
}

fault_transport::fault_transport(std::unique_ptr<transport> inner, const fault_plan& plan)
    : forwarding_transport{std::move(inner)}, dice_{plan} {}
fault_transport::~fault_transport() = default;

// The transport below may have its multicast only once it is connected, or another one then.
multicast* fault_transport::mcast() noexcept {
  multicast* below = inner().mcast();
  if (!below) return nullptr;
  if (!multicast_ || &multicast_->wraps() != below) multicast_ = std::make_unique<faulty_multicast>(*below, dice_);
  return multicast_.get();
}

two_sided* fault_transport::sendrecv() noexcept {
  two_sided* below = inner().sendrecv();
  if (!below) return nullptr;
  if (!two_sided_ || &two_sided_->wraps() != below) two_sided_ = std::make_unique<faulty_two_sided>(*below, dice_);
  return two_sided_.get();
}

result<std::vector<std::byte>> fault_transport::address() {
  if (status s = dice_.setup_call("address"); s.failed()) return s;
  return inner().address();
}
status fault_transport::connect(shared_blobs addresses, time_point deadline) {
  if (status s = dice_.setup_call("connect"); s.failed()) return s;
  return inner().connect(std::move(addresses), deadline);
}
result<region_id> fault_transport::add(std::span<std::byte> memory) {
  if (status s = dice_.setup_call("add"); s.failed()) return s;
  return inner().add(memory);
}
result<region_id> fault_transport::add_unowned(std::span<std::byte> memory) {
  if (status s = dice_.setup_call("add_unowned"); s.failed()) return s;
  return inner().add_unowned(memory);
}
result<region_id> fault_transport::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  if (status s = dice_.setup_call("allocate"); s.failed()) return s;
  return inner().allocate(bytes, memory);
}
result<std::vector<std::byte>> fault_transport::key(region_id id) {
  if (status s = dice_.setup_call("key"); s.failed()) return s;
  return inner().key(id);
}
result<segment_id> fault_transport::attach(const rank_map& members, shared_blobs keys) {
  if (status s = dice_.setup_call("attach"); s.failed()) return s;
  return inner().attach(members, std::move(keys));
}

std::size_t fault_transport::submit(std::span<const rma_op> ops) noexcept {
  if (!ops.empty() && dice_.roll(dice_.plan.refuse, refused_)) ops = ops.first(dice_.below(ops.size()));
  return operations_ < dice_.plan.fail_operation ? submit_but_one(ops) : inner().submit(ops);
}

// One by one, until it is done: an operation is counted when it is taken.
std::size_t fault_transport::submit_but_one(std::span<const rma_op> ops) noexcept {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    completion* const done = ops[i].done;
    if (done && operations_ + 1 == dice_.plan.fail_operation) {
      done->begin();
      done->finish({errc::fabric, "an operation upon rank " + std::to_string(ops[i].rank) + " failed, as injected",
                    ops[i].rank});
    } else if (inner().submit(ops.subspan(i, 1)) == 0) {
      return i;
    }
    operations_ += done != nullptr;
  }
  return ops.size();
}

bool fault_transport::flush(rank_t peer, completion* done) noexcept {
  return !dice_.roll(dice_.plan.refuse, flushes_refused_) && inner().flush(peer, done);
}

// An idle turn closes an open sleep, as every progress() does.
unsigned fault_transport::progress() noexcept {
  if (two_sided_) two_sided_->progress();
  if (!dice_.roll(dice_.plan.idle, idle_)) return inner().progress();
  inner().disarm();
  return 0;
}

bool fault_transport::may_arm() noexcept { return !(two_sided_ && !two_sided_->arm()) && !(multicast_ && multicast_->holds_any()); }

armed fault_transport::arm() noexcept { return may_arm() ? inner().arm() : armed_if(false); }

bool fault_transport::arm_fd() noexcept { return may_arm() && inner().arm_fd(); }

}  // namespace tutti
