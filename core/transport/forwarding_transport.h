// A transport that hands every call to another one. A decorator derives from it and overrides what it is about.
#pragma once
#include <memory>

#include "core/transport/multicast.h"
#include "core/transport/offload.h"
#include "core/transport/transport.h"
#include "core/transport/two_sided.h"

namespace tutti {

class forwarding_transport : public transport {
 public:
  explicit forwarding_transport(std::unique_ptr<transport> inner) noexcept : inner_{std::move(inner)} {}

  const capabilities& caps() const noexcept override { return inner_->caps(); }
  multicast* mcast() noexcept override { return inner_->mcast(); }
  offload* offloader() noexcept override { return inner_->offloader(); }
  two_sided* sendrecv() noexcept override { return inner_->sendrecv(); }

  result<std::vector<std::byte>> address() override { return inner_->address(); }
  status connect(shared_blobs addresses, time_point deadline) override { return inner_->connect(addresses, deadline); }
  bool reaches(rank_t rank) const noexcept override { return inner_->reaches(rank); }
  bool native_towards(rank_t rank) const noexcept override { return inner_->native_towards(rank); }

  result<region_id> add(std::span<std::byte> memory) override { return inner_->add(memory); }
  result<region_id> add_unowned(std::span<std::byte> memory) override { return inner_->add_unowned(memory); }
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override {
    return inner_->allocate(bytes, memory);
  }
  result<std::vector<std::byte>> key(region_id id) override { return inner_->key(id); }
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override {
    return inner_->attach(members, std::move(keys));
  }
  void drop(segment_id id) noexcept override { inner_->drop(id); }
  void drop(region_id id) noexcept override { inner_->drop(id); }
  void at_rest(bool on) noexcept override { inner_->at_rest(on); }
  std::byte* map(segment_id id, rank_t rank) noexcept override { return inner_->map(id, rank); }

  [[nodiscard]] std::size_t submit(std::span<const rma_op> ops) noexcept override { return inner_->submit(ops); }
  [[nodiscard]] bool flush(rank_t peer, completion* done) noexcept override { return inner_->flush(peer, done); }
  unsigned progress() noexcept override { return inner_->progress(); }

  armed arm() noexcept override { return inner_->arm(); }
  void sleep(armed open, time_point deadline) noexcept override { inner_->sleep(std::move(open), deadline); }
  bool arm_fd() noexcept override { return inner_->arm_fd(); }
  int wait_fd() noexcept override { return inner_->wait_fd(); }
  void disarm() noexcept override { inner_->disarm(); }

  time_point now() const noexcept override { return inner_->now(); }
  status health(rank_t peer) noexcept override { return inner_->health(peer); }

 protected:
  transport& inner() noexcept { return *inner_; }
  const transport& inner() const noexcept { return *inner_; }

 private:
  std::unique_ptr<transport> inner_;
};

}  // namespace tutti
