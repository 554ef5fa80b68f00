// Small regions out of few files. A file and a mapping for each region, in its owner and in each peer, would be most of what a team
// costs: ranks may have thousands of teams, and 1,024 files.
//
// A chunk is a file that holds several regions. Its owner gives out their places, and peers map it once, for as long as they use one of
// its regions. So the memory of a region that its owner has dropped stays mapped in peers that may still write there, late members of a
// team that failed, say. Nobody else may get that memory before they have let go of it. In front of each region is a word: the
// region's serial, 0 once it is dropped, and how many segments of peers use it. A peer counts itself in by one compare-and-swap
// that finds the serial of the key that it has; the owner takes the serial away by one atomic operation. Either comes first: then
// the peer finds the region dropped, and touches nothing; or the owner finds the peer, and leaves the place out of use until the count
// is zero. The count never falls again for a peer that died meanwhile; what it used is given back with the transport.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "providers/shm/os.h"

namespace tutti::shm {

// Stands in the last line before the region.
struct alignas(64) place_head {
  std::atomic<std::uint64_t> serial_and_users;

  bool enter(std::uint32_t serial) noexcept {  // false: dropped
    std::uint64_t seen = serial_and_users.load(std::memory_order_acquire);
    while (seen >> 32 == serial)
      if (serial_and_users.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  void leave() noexcept { serial_and_users.fetch_sub(1, std::memory_order_acq_rel); }
};
inline place_head& head_of(std::byte* region) noexcept { return *reinterpret_cast<place_head*>(region - sizeof(place_head)); }

class arena {
 public:
  static constexpr std::size_t most = 256 << 10;  // of a region

  // Zeroed memory of a region, until it is destroyed; the arena must outlive it.
  class place {
   public:
    place() noexcept = default;
    place(place&& o) noexcept { *this = std::move(o); }
    place& operator=(place&& o) noexcept {
      std::swap(of_, o.of_), std::swap(base_, o.base_), std::swap(name_, o.name_), std::swap(offset_, o.offset_);
      return *this;
    }
    ~place() { if (base_) of_->give_back(base_); }
    std::byte* base() const noexcept { return base_; }  // null: none
    const memory_name& memory() const noexcept { return name_; }
    std::uint64_t offset() const noexcept { return offset_; }

   private:
    friend class arena;
    arena* of_ = nullptr;
    std::byte* base_ = nullptr;
    memory_name name_;           // of the chunk
    std::uint64_t offset_ = 0;   // in it
  };
  result<place> take(std::size_t bytes, std::uint32_t serial);

 private:
  struct range {
    std::size_t at, bytes;
  };
  struct chunk {
    shared_memory memory;
    std::vector<range> free;   // in order, no two side by side
    std::vector<range> taken;  // in order
  };
  result<place> take_from(chunk&, std::size_t bytes, std::uint32_t serial);
  void give_back(std::byte*) noexcept;
  void collect() noexcept;
  void release(std::byte*) noexcept;

  std::vector<std::unique_ptr<chunk>> chunks_;
  std::vector<std::byte*> used_by_peers_;  // dropped
  std::size_t places_ = 0;                 // given out, or used by peers
};

// Of peers' chunks, those that this rank uses.
class arena_view {
 public:
  // The region that the key names. peer_dead without a rank: its owner is gone, or has dropped it.
  result<std::byte*> enter(const memory_name& chunk, std::uint64_t offset, std::uint32_t serial);
  void leave(std::byte* region) noexcept;

 private:
  struct mapped {
    memory_name name;
    mapping memory;
    std::size_t uses = 0;
  };
  std::vector<mapped> chunks_;
};

}  // namespace tutti::shm
