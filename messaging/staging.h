// This rank's staging memory: slots that ranks of its node map, through which long messages between plain memories go. Both ends copy at
// once: the sender fills a slot while the receiver empties the one before. Allocated with the first such message, 1 MiB.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/transport/transport.h"

namespace tutti::messaging {

class staging_memory {
 public:
  static constexpr std::uint32_t slot_bytes = 32 * 1024, slots = 32, slots_a_message = 4;
  static_assert(slots <= 32);

  staging_memory() = default;
  staging_memory(const staging_memory&) = delete;
  staging_memory& operator=(const staging_memory&) = delete;

  bool ready(transport& net) noexcept;  // false: there is none to be had
  void drop(transport& net) noexcept { if (base_) net.drop(region_), base_ = nullptr; }
  const std::vector<std::byte>& key() const noexcept { return key_; }
  std::byte* slot(std::uint32_t i) const noexcept { return base_ + std::size_t{i} * slot_bytes; }

  std::uint32_t unused() const noexcept { return static_cast<std::uint32_t>(__builtin_popcount(free_)); }
  // Up to `wanted` free slots; how many.
  std::uint32_t take(std::uint32_t wanted, std::uint32_t* out) noexcept {
    std::uint32_t n = 0;
    for (; n < wanted && free_; ++n) {
      out[n] = static_cast<std::uint32_t>(__builtin_ctz(free_));
      free_ &= free_ - 1;
    }
    return n;
  }
  void give(std::uint32_t n, const std::uint32_t* which) noexcept {
    for (std::uint32_t i = 0; i < n; ++i) free_ |= std::uint32_t{1} << which[i];
  }

 private:
  std::byte* base_ = nullptr;
  region_id region_{};
  std::vector<std::byte> key_;
  std::uint32_t free_ = ~std::uint32_t{0} >> (32 - slots);
  bool failed_ = false;
};

inline bool staging_memory::ready(transport& net) noexcept {
  if (base_ || failed_) return base_;
  failed_ = true;
  try {
    std::span<std::byte> memory;
    auto region = net.allocate(std::size_t{slots} * slot_bytes, memory);
    if (!region) return false;
    auto key = net.key(*region);
    if (!key) return net.drop(*region), false;
    key_ = std::move(*key);
    region_ = *region, base_ = memory.data(), failed_ = false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

}  // namespace tutti::messaging
