// Registered memory for two-sided messages, in buffers of packet_bytes: it grows by a slab at a time and never shrinks.
#pragma once
#include <infiniband/verbs.h>

#include <memory>

#include "providers/verbs/device.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {

inline constexpr std::uint32_t slab_buffers = 64;  // 256 KiB

class packet_buffers {
 public:
  packet_buffers() = default;
  packet_buffers(const packet_buffers&) = delete;
  packet_buffers& operator=(const packet_buffers&) = delete;
  ~packet_buffers() { close(); }

  status open(ibv_pd*, const adapter&, std::uint32_t most) noexcept;  // buffers, a multiple of slab_buffers
  void close() noexcept;
  status grow() noexcept;                                            // by slab_buffers
  std::uint32_t count() const noexcept { return slabs_ * slab_buffers; }
  std::uint32_t most() const noexcept { return most_; }

  std::byte* at(std::uint32_t place) const noexcept {
    return table_[place / slab_buffers].base + std::size_t{place % slab_buffers} * packet_bytes;
  }
  ibv_sge part(std::uint32_t place, std::uint32_t bytes) const noexcept {
    return {reinterpret_cast<std::uint64_t>(at(place)), bytes, table_[place / slab_buffers].mr->lkey};
  }

 private:
  struct slab {
    std::byte* base = nullptr;
    ibv_mr* mr = nullptr;
  };
  ibv_pd* pd_ = nullptr;
  const adapter* device_ = nullptr;
  std::unique_ptr<slab[]> table_;
  std::uint32_t slabs_ = 0, most_ = 0;
};

}  // namespace tutti::verbs
