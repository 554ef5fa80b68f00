// Memory of this rank that others reach, and theirs that this rank reaches: a region and a segment, given back together.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/transport/transport.h"

namespace tutti {

// Memory that is given back while this object lives is at rest (transport::at_rest()), if `agreed`: after a team::settle() of all
// members that had its keys.
class resting {
 public:
  resting(transport& net, bool agreed) noexcept : net_(net) { net_.at_rest(agreed); }
  resting(const resting&) = delete;
  resting& operator=(const resting&) = delete;
  ~resting() { net_.at_rest(false); }

 private:
  transport& net_;
};

class exposed_memory {
 public:
  exposed_memory() = default;
  explicit exposed_memory(transport& net) noexcept : net_(&net) {}
  exposed_memory(exposed_memory&& other) noexcept { swap(other); }
  exposed_memory& operator=(exposed_memory&& other) noexcept { return swap(other), *this; }
  ~exposed_memory() {
    if (attached_) net_->drop(segment_);
    if (exposed_) net_->drop(region_);
  }

  // This rank's part, `bytes` from `base` or, where that is null, of new memory; and the key by which the others attach it.
  result<std::vector<std::byte>> expose(std::byte* base, std::size_t bytes) {
    std::span<std::byte> memory(base, bytes);
    auto region = base ? net_->add(memory) : net_->allocate(bytes, memory);
    if (!region) return region.error();
    region_ = *region, base_ = memory.data(), exposed_ = true;
    return net_->key(region_);
  }
  // The parts of all, by their keys.
  status attach(const rank_map& members, shared_blobs keys) {
    auto segment = net_->attach(members, std::move(keys));
    if (!segment) return segment.error();
    segment_ = *segment, attached_ = true;
    return {};
  }

  bool attached() const noexcept { return attached_; }
  segment_id segment() const noexcept { return segment_; }
  region_id region() const noexcept { return region_; }  // mine, if I expose any
  std::byte* base() const noexcept { return base_; }     // its address here; null: none

 private:
  void swap(exposed_memory& other) noexcept {
    std::swap(net_, other.net_), std::swap(base_, other.base_);
    std::swap(region_, other.region_), std::swap(segment_, other.segment_);
    std::swap(exposed_, other.exposed_), std::swap(attached_, other.attached_);
  }

  transport* net_ = nullptr;
  std::byte* base_ = nullptr;
  region_id region_{};
  segment_id segment_{};
  bool exposed_ = false, attached_ = false;
};

}  // namespace tutti
