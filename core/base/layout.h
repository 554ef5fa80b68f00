// How data lie that are not in one piece: blocks by their distance from a base, which is an address or an offset in a window. The
// data are the blocks' bytes in the blocks' order, so byte p of the data has one place, and two layouts with the same number
// of bytes say where each byte of one goes in the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "core/base/copy.h"
#include "core/base/status.h"

namespace tutti {

// An entry of a nested layout's lists: so many times the same list, or the same block.
struct layout_part {
  std::size_t begin;       // in the data of the list that this is an entry of
  std::size_t bytes;       // of each time
  std::size_t count;
  std::ptrdiff_t offset;   // of the first time
  std::ptrdiff_t stride;   // from one time to the next
  std::size_t first, last; // the list's entries, by their places among all; none of a block
  bool is_block() const noexcept { return first == last; }
};

// A layout that was checked: sizes and distances below are within PTRDIFF_MAX. Lists of an indexed layout are the caller's; those of
// a strided one are kept here, merged: a dimension whose blocks adjoin is no dimension but a longer block, and two that one stride
// describes are one. So a dense array of any dimensions is one block. A nested layout is a tree of lists, which its copies share.
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
  bool in_one_piece() const noexcept { return !offsets_ && !parts_ && dimensions_ == 0; }

 private:
  friend class layout_cursor;
  friend class kept_layout;
  friend class layout_nest;
  std::size_t bytes_ = 0;
  std::ptrdiff_t low_ = 0, high_ = 0;
  std::size_t block_ = 0;                        // bytes of each block, unless lengths_ has them
  std::size_t blocks_ = 0;                       // indexed, nested
  const std::ptrdiff_t* offsets_ = nullptr;      // indexed
  const std::size_t* lengths_ = nullptr;         // indexed, or null
  std::ptrdiff_t start_ = 0;                     // strided: of the first block
  std::size_t dimensions_ = 0;                   // strided, after merging; 0: one block
  std::size_t counts_[most_dimensions] = {};
  std::ptrdiff_t strides_[most_dimensions] = {};
  std::shared_ptr<const std::vector<layout_part>> parts_;  // nested: the outermost list, and all below it
  std::size_t outermost_ = 0;                    // the entries of that list
};

// Makes a layout of layouts, as TUTTI_NESTED in api/tutti.h: its memory is by the entries that were added and by those of their own
// lists, however many blocks they come to. A strided layout that is repeated at even distances becomes a strided one.
class layout_nest {
 public:
  // `count` times `inner`, whose lists are read until the end. Errors: invalid. Throws bad_alloc.
  status add(std::ptrdiff_t offset, std::size_t count, std::ptrdiff_t stride, const block_layout& inner);
  result<block_layout> finish();

 private:
  struct range {
    std::size_t first, last, blocks;
  };
  range list(const block_layout&);
  void place();

  block_layout out_;
  std::vector<layout_part> entries_, below_;  // places are among those below
  layout_part added_{};                       // the last one, which becomes an entry when another one comes; a count of 0: none
  block_layout recent_;                       // its inner one, and the list of that, once it was made
  range recent_list_{};
};

// A place in the data of a layout, which must outlive it. Moving on costs O(1) for each block, and of a nested layout O(depth) for each
// time that a list of lists begins. seek() costs O(dimensions) or O(depth log entries); but of an indexed layout of unlike lengths O(1)
// for each block, forwards from where the cursor is and backwards from the beginning.
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
  std::size_t length() const noexcept { return layout_->lengths_ ? layout_->lengths_[block_] : length_; }
  void restart() noexcept;
  void next_block() noexcept;
  void skip_empty() noexcept;
  void next_part() noexcept;
  void descend(std::size_t position) noexcept;
  void begin_blocks() noexcept;

  const block_layout* layout_;
  std::size_t position_;                            // in the data
  std::size_t inside_;                              // bytes of the present block that lie before the position
  std::ptrdiff_t at_;                               // the present block
  std::size_t block_;                               // indexed: its number; nested: how many of the part's lie before it
  std::size_t length_;                              // its bytes, unless the layout lists lengths
  union {
    std::size_t index_[block_layout::most_dimensions];  // strided: its indices
    struct {
      const layout_part* part;                      // that the block is of,
      const layout_part* around;                    // and that whose list it is in; null: the outermost list
      std::size_t turn;                             // which time that is,
      std::ptrdiff_t at;                            // and where it lies
    } in_;                                          // nested
  };
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
