// The gather tree of Kini 2003, 3.3: fan-in l a level, ceil(log_{l+1} N) levels, root 0. On level j the ranks that are
// multiples of (l+1)^j are still in play; each multiple of (l+1)^(j+1) gathers from the l that follow it. A parent
// meets its children level by level, so the small subtrees, which finish first, are waited for first.
//
// Control lines: the child that is the c-th (1..l) of level j signals line j*l + c - 1 of its parent. The root uses
// lines 0 .. children(0)-1. Any other rank ends its gathering below the level on which the root still has a child, so
// line children(0)-1 is free in every rank but the root: that is where a parent announces the release.
#pragma once
#include <cstdint>

#include "collectives/price.h"

namespace tutti {

class fan_in_tree {
 public:
  fan_in_tree(std::uint32_t size, std::uint32_t fan_in) noexcept : size_(size), fan_in_(fan_in) {}

  std::uint32_t levels() const noexcept {
    std::uint32_t n = 0;
    for (std::uint64_t stride = 1; stride < size_; stride *= fan_in_ + std::uint64_t{1}) ++n;
    return n;
  }

  // visit(child, line), nearest level first.
  template <class F>
  void for_each_child(std::uint32_t rank, F visit) const {
    std::uint32_t line = 0;
    for (std::uint64_t stride = 1; stride < size_; stride *= fan_in_ + std::uint64_t{1}) {
      if (rank % (stride * (fan_in_ + std::uint64_t{1})) != 0) return;
      for (std::uint32_t c = 1; c <= fan_in_; ++c, ++line) {
        if (rank + c * stride >= size_) return;
        visit(static_cast<std::uint32_t>(rank + c * stride), line);
      }
    }
  }

  std::uint32_t children(std::uint32_t rank) const noexcept {
    std::uint32_t n = 0;
    for_each_child(rank, [&](std::uint32_t, std::uint32_t) { ++n; });
    return n;
  }

  struct link {
    std::uint32_t parent, line;
  };
  // rank > 0
  link parent(std::uint32_t rank) const noexcept {
    std::uint32_t level = 0;
    std::uint64_t stride = 1;
    while (rank % (stride * (fan_in_ + std::uint64_t{1})) == 0) stride *= fan_in_ + std::uint64_t{1}, ++level;
    const std::uint64_t place = rank / stride % (fan_in_ + std::uint64_t{1});
    return {static_cast<std::uint32_t>(rank - place * stride),
            static_cast<std::uint32_t>(level * std::uint64_t{fan_in_} + place - 1)};
  }

 private:
  std::uint32_t size_, fan_in_;
};

// The closed form of a gather along it.
inline picoseconds gather(const form_input& in, std::uint32_t fan_in) noexcept {
  const fan_in_tree links(in.size, fan_in);
  const std::uint32_t levels = links.levels();
  return levels ? (levels - 1) * hop(in, fan_in) + hop(in, links.children(0) - (levels - 1) * fan_in) : 0;
}

}  // namespace tutti
