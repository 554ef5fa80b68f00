// This rank's memory that stays registered, as windows are: a message from it or into it needs no registration of its own, and where the
// peer maps it, the data are copied once, from the one memory to the other.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "core/transport/transport.h"

namespace tutti::messaging {

class lasting_memory {
 public:
  struct part {
    const std::byte* base;
    std::size_t bytes;
    region_id region;
    bool mapped;  // ranks of this node reach it by loads and stores
    std::vector<std::byte> key;
  };
  // Memory of which no key can be had is as memory that nobody told of. Of parts that overlap
  // one or the other is found, or none.
  void add(transport& net, std::span<const std::byte> memory, region_id region, bool mapped) noexcept {
    try {
      auto key = net.key(region);
      if (!key) return;
      parts_.reserve(parts_.size() + 1);
      parts_.insert(place(memory.data()), part{memory.data(), memory.size(), region, mapped, std::move(*key)});
    } catch (const std::bad_alloc&) {
    }
  }
  void remove(region_id region) noexcept {
    std::erase_if(parts_, [&](const part& p) { return p.region == region; });
  }
  const part* find(const std::byte* data, std::size_t bytes) const noexcept {  // null: none holds all of it
    auto at = std::upper_bound(parts_.begin(), parts_.end(), data, [](const std::byte* d, const part& p) { return d < p.base; });
    if (at == parts_.begin()) return nullptr;
    --at;
    const auto offset = static_cast<std::size_t>(data - at->base);
    return offset <= at->bytes && bytes <= at->bytes - offset ? &*at : nullptr;
  }

 private:
  std::vector<part>::iterator place(const std::byte* base) noexcept {
    return std::lower_bound(parts_.begin(), parts_.end(), base, [](const part& p, const std::byte* b) { return p.base < b; });
  }
  std::vector<part> parts_;  // by address
};

}  // namespace tutti::messaging
