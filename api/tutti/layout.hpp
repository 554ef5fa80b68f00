// Data that do not lie in one piece (tutti_layout_t): a layout refers to the lists that it was made of, which stay until the call
// that it is given to returns.
#pragma once
#include <tutti.h>

#include <cstddef>
#include <span>

#include <tutti/data.hpp>
#include <tutti/result.hpp>

namespace tutti {
inline namespace cpp {

class layout {
 public:
  static layout contiguous(std::size_t bytes) noexcept {
    layout l;
    l.is_.kind = TUTTI_CONTIGUOUS, l.is_.block_bytes = bytes;
    return l;
  }
  // Blocks of block_bytes bytes; counts and strides (in bytes) by dimension, the last one varies fastest.
  static layout strided(std::size_t block_bytes, std::span<const std::size_t> counts, std::span<const std::ptrdiff_t> strides) noexcept {
    layout l;
    l.well_ = counts.size() == strides.size();
    l.is_.kind = TUTTI_STRIDED, l.is_.block_bytes = block_bytes, l.is_.count = counts.size();
    l.is_.counts = counts.data(), l.is_.strides = strides.data();
    return l;
  }
  // Blocks of `lengths` bytes at `offsets`.
  static layout indexed(std::span<const std::ptrdiff_t> offsets, std::span<const std::size_t> lengths) noexcept {
    layout l = indexed(offsets, std::size_t{0});
    l.well_ = offsets.size() == lengths.size();
    l.is_.lengths = lengths.data();
    return l;
  }
  // Blocks of one length.
  static layout indexed(std::span<const std::ptrdiff_t> offsets, std::size_t block_bytes) noexcept {
    layout l;
    l.is_.kind = TUTTI_INDEXED, l.is_.block_bytes = block_bytes, l.is_.count = offsets.size(), l.is_.offsets = offsets.data();
    return l;
  }

  // Null: lists of unlike lengths.
  const tutti_layout_t* get() const noexcept { return well_ ? &is_ : nullptr; }
  result<std::size_t> bytes(tutti_t ctx) const {
    std::size_t all = 0;
    if (const auto code = tutti_layout_bytes(ctx, get(), &all); code != TUTTI_OK) return detail::failure_of(code, ctx);
    return all;
  }

 private:
  layout() = default;
  tutti_layout_t is_{};
  bool well_ = true;
};

}  // namespace cpp
}  // namespace tutti
