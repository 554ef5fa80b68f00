// Memory in which a process packs what it has for others: large regions that the fabric can reach, given out in chunks
// by moving a mark, and taken back all at once. There are two halves, for the even and the odd supersteps: a half is
// reclaimed when its next superstep begins, since by then every reader has left it (superstep.cpp). Regions stay
// until the end, so a program that repeats itself soon allocates nothing.
//
// Region 0 is the window (window_layout.h), which has the first chunk for everyone, and room for more: the even supersteps' half
// grows into it from its beginning and the odd ones' from its end, so either may have nearly all. Where another process
// reads chunks in place it must be able to reach a region as soon as a chunk of it is named: so a region's key is written
// into the window's directory before anything lies in the region.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "bsp/budget.h"
#include "bsp/wire.h"
#include "core/transport/transport.h"

namespace tutti::bsp {

class arena {
 public:
  static constexpr std::uint32_t most_regions = 64;  // their numbers have 6 bits (make_answer)
  static constexpr std::size_t first_region = std::size_t{1} << 18;

  // `memory` is what all regions but the first are taken from. `announce` is given every new region's number and key, and
  // may refuse it.
  using announcer = std::function<status(std::uint32_t region, std::span<const std::byte> key)>;
  arena(transport&, budget& memory, announcer announce);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  // As region 0, which stays its owner's, with the room that it has for chunks: multiples of 64.
  void adopt(region_id, std::span<std::byte> memory, std::uint64_t room, std::uint64_t room_bytes);

  // A chunk from this half, at least 64-byte aligned. Errors: no_resource.
  result<location> take(unsigned half, std::size_t bytes);
  void reclaim(unsigned half) noexcept;

  std::byte* at(location l) const noexcept { return regions_[region_of(l)].memory.data() + offset_of(l); }
  // Where a byte lies that is in the same region as `near`.
  location where(const std::byte* byte, location near) const noexcept {
    return make_location(region_of(near), static_cast<std::uint64_t>(byte - regions_[region_of(near)].memory.data()));
  }
  region_id id(location l) const noexcept { return regions_[region_of(l)].id; }
  std::uint32_t regions() const noexcept { return static_cast<std::uint32_t>(regions_.size()); }
  std::span<const std::byte> key(std::uint32_t number) const noexcept { return regions_[number].key; }

 private:
  struct region {
    region_id id{};
    std::span<std::byte> memory;
    std::vector<std::byte> key;
  };
  struct half_of {
    std::vector<std::uint32_t> regions;
    std::size_t current = 0;   // into regions
    std::size_t mark = 0;      // in it
    std::uint64_t in_room = 0; // bytes
  };
  status grow(half_of&, std::size_t least);

  transport& net_;
  budget& memory_;
  announcer announce_;
  std::vector<region> regions_;
  std::uint64_t room_ = 0, room_bytes_ = 0;  // in region 0
  half_of halves_[2];
};

}  // namespace tutti::bsp
