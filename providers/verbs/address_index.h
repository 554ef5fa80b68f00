// Regions by address: which of them holds a range of memory. They may overlap.
//
// Of all that begin at or before an address, the one that reaches furthest holds a range from there if any of them does: so
// each entry, in the order of the beginnings, names the furthest up to itself.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/transport/transport.h"

namespace tutti::verbs {

class address_index {
 public:
  void reserve(std::size_t regions) { entries_.reserve(regions); }
  void add(std::uint64_t begin, std::uint64_t bytes, region_id region) noexcept {  // reserve() has made room
    link_from(entries_.insert(above(begin), {begin, begin + bytes, region, 0}) - entries_.begin());
  }
  void remove(region_id region) noexcept {
    const auto at = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.region == region; });
    if (at != entries_.end()) link_from(entries_.erase(at) - entries_.begin());
  }
  // A region that holds all of the range; unregistered_memory: none does.
  region_id find(std::uint64_t address, std::uint64_t bytes) noexcept {
    const auto behind = above(address);
    if (behind == entries_.begin()) return unregistered_memory;
    const entry& furthest = entries_[(behind - 1)->furthest];
    return furthest.end > address && furthest.end - address >= bytes ? furthest.region : unregistered_memory;
  }

 private:
  struct entry {
    std::uint64_t begin = 0, end = 0;
    region_id region{};
    std::uint32_t furthest = 0;  // index, among the entries up to this one
  };
  std::vector<entry>::iterator above(std::uint64_t address) noexcept {
    return std::upper_bound(entries_.begin(), entries_.end(), address, [](std::uint64_t a, const entry& e) { return a < e.begin; });
  }
  void link_from(std::ptrdiff_t place) noexcept {
    for (auto i = static_cast<std::size_t>(place); i < entries_.size(); ++i) {
      const std::uint32_t before = i ? entries_[i - 1].furthest : 0;
      entries_[i].furthest = i && entries_[before].end >= entries_[i].end ? before : static_cast<std::uint32_t>(i);
    }
  }

  std::vector<entry> entries_;
};

}  // namespace tutti::verbs
