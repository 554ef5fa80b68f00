// How data lie that are not in one piece: blocks by their distance from a base, which is an address or an offset in a window. The
// data are the blocks' bytes in the blocks' order, so byte p of the data has one place, and two layouts with the same number
// of bytes say where each byte of one goes in the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/copy.h"
#include "core/base/status.h"

namespace tutti {

// A layout that was checked: sizes and distances below are within PTRDIFF_MAX. Lists of an indexed layout are the caller's; those of
// a strided one are kept here, merged: a dimension whose blocks adjoin is no dimension but a longer block, and two that one stride
// describes are one. So a dense array of any dimensions is one block.
class block_layout {
 public:
  static constexpr std::size_t most_dimensions = 8;

  block_layout() noexcept = default;  // no bytes
  // As TUTTI_CONTIGUOUS, TUTTI_STRIDED and TUTTI_INDEXED in api/tutti.h. Errors: invalid, naming the value and what to do.
  static result<block_layout> contiguous(std::size_t bytes);
  static result<block_layout> strided(std::size_t block_bytes, std::size_t dimensions, const std::size_t* counts,
                                     const std::ptrdiff_t* strides);
  static result<block_layout> indexed(std::size_t blocks, const std::ptrdiff_t* offsets, const std::size_t* lengths,
                                     std::size_t block_bytes);

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t blocks() const noexcept;  // in one piece each, or less: those of a list that adjoin count apart
  // All bytes lie at distances in [low, high); both are 0 where there are none.
  std::ptrdiff_t low() const noexcept { return low_; }
  std::ptrdiff_t high() const noexcept { return high_; }
  bool in_one_piece() const noexcept { return static_cast<std::size_t>(high_ - low_) == bytes_ && !offsets_ && dimensions_ == 0; }
  bool lists() const noexcept { return offsets_ != nullptr; }  // that belong to the caller; kept_layout copies them

 private:
  friend class layout_cursor;
  friend class kept_layout;
  std::size_t bytes_ = 0;
  std::ptrdiff_t low_ = 0, high_ = 0;
  std::size_t block_ = 0;                        // bytes of each block, unless lengths_ has them
  std::size_t blocks_ = 0;                       // indexed
  const std::ptrdiff_t* offsets_ = nullptr;      // indexed
  const std::size_t* lengths_ = nullptr;         // indexed, or null
  std::size_t dimensions_ = 0;                   // strided, after merging; 0: one block at distance 0
  std::size_t counts_[most_dimensions] = {};
  std::ptrdiff_t strides_[most_dimensions] = {};
};

// A place in the data of a layout, which must outlive it. Moving on costs O(1) for each block; so does seek(), forwards from where
// the cursor is and backwards from the beginning, where an indexed layout has unlike lengths, and else O(dimensions).
class layout_cursor {
 public:
  struct run {
    std::ptrdiff_t offset;  // from the base
    std::size_t bytes;
  };
  explicit layout_cursor(const block_layout& l) noexcept : layout_(&l) { restart(); }
  std::size_t position() const noexcept { return position_; }
  std::size_t left() const noexcept { return layout_->bytes_ - position_; }
  void seek(std::size_t position) noexcept;  // at most bytes()
  // The bytes from here on that are in one piece, across blocks that adjoin; at most `most`. None: the end.
  run take(std::size_t most = PTRDIFF_MAX) noexcept;

 private:
  std::size_t length() const noexcept { return layout_->lengths_ ? layout_->lengths_[block_] : layout_->block_; }
  void restart() noexcept;
  void next_block() noexcept;
  void skip_empty() noexcept;

  const block_layout* layout_;
  std::size_t position_;                            // in the data
  std::size_t inside_;                              // bytes of the present block that lie before the position
  std::ptrdiff_t at_;                               // the present block
  std::size_t block_;                               // indexed: its number
  std::size_t index_[block_layout::most_dimensions]; // strided: its indices
};

// Copies the next out.size() bytes of the data, which lie around `base`, and moves on; unpack() the other way. Any range of the
// data by seek(). `base` may be null where offsets are addresses.
void pack(const void* base, layout_cursor&, std::span<std::byte> out) noexcept;
void unpack(void* base, layout_cursor&, std::span<const std::byte> in) noexcept;

// Walks through the data of two layouts that list the same number of bytes, by runs that are in one piece at both ends: as few as
// there can be without changing the order.
class joint_walk {
 public:
  struct run {
    std::ptrdiff_t here, there;
    std::size_t bytes;
  };
  joint_walk(const block_layout& here, const block_layout& there) noexcept : here_(here), there_(there) {}
  bool next(run& out) noexcept;  // false: the end

 private:
  layout_cursor here_, there_;
  layout_cursor::run a_{}, b_{};  // what is left of each end's run
};

// A layout with its lists, for what outlives the call that brought it. Allocates where more is listed than ever before.
class kept_layout {
 public:
  kept_layout() noexcept = default;
  kept_layout(const kept_layout&) = delete;
  kept_layout& operator=(const kept_layout&) = delete;
  void keep(const block_layout&);  // throws bad_alloc
  const block_layout& get() const noexcept { return layout_; }

 private:
  block_layout layout_;
  std::vector<std::ptrdiff_t> offsets_;
  std::vector<std::size_t> lengths_;
};

inline std::byte* at_distance(const void* base, std::ptrdiff_t offset) noexcept {  // not by +, which has no meaning upon null
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}

// Elements of arrays are what short blocks are; a call of memcpy costs more than they do.
inline void copy_block(std::byte* to, const std::byte* from, std::size_t n) noexcept {
  switch (n) {
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    case 32: std::memcpy(to, from, 32); return;
    default: copy_bytes(to, from, n);
  }
}

}  // namespace tutti
