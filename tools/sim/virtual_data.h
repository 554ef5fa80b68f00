// What the ranks of a simulated job move: addresses of as many bytes as one likes, on little memory. What the data are plays no part.
#pragma once
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "providers/sim/sim.h"

namespace tutti::tools {

// Long operations take their time, and leave the memory as it is. Short ones may be words that the library reads.
class standing_memory final : public sim::far_memory {
 public:
  bool read(const std::byte* from, void* to, std::size_t bytes) noexcept override;
  bool write(const void* from, std::byte* to, std::size_t bytes) noexcept override;
  bool stands_still(std::size_t bytes) const noexcept override { return bytes >= 4096; }
};

// The same few pages again and again.
class virtual_data {
 public:
  static constexpr std::uint64_t most = std::uint64_t{1} << 38;  // bytes: what is copied within a rank is copied, and page tables grow

  // Errors: invalid, more than `most`; no_resource.
  static result<virtual_data> of(std::uint64_t bytes);
  virtual_data() noexcept = default;
  virtual_data(virtual_data&&) noexcept;
  virtual_data& operator=(virtual_data&& o) noexcept { return std::swap(memory_, o.memory_), *this; }
  ~virtual_data();

  std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  explicit virtual_data(std::span<std::byte> m) noexcept : memory_(m) {}
  std::span<std::byte> memory_;
};

}  // namespace tutti::tools
