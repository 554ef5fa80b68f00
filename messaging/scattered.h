// The data of a send or a receive that do not lie in one piece. Eager messages and chunks of staging memory are packed and unpacked where they
// are copied anyway. What the fabric moves by itself, by get or put, moves by lists of the pieces where that costs less than copies
// (routes.h), and else through a buffer that is packed before or unpacked afterwards.
#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "core/base/layout.h"

namespace tutti::messaging {

class scattered {
 public:
  void set(const void* base, const block_layout& l) {  // throws bad_alloc
    layout_.keep(l);
    base_ = const_cast<void*>(base);
    cursor_.emplace(layout_.get());
  }
  const block_layout& layout() const noexcept { return layout_.get(); }
  std::byte* low() const noexcept { return at_distance(base_, layout_.get().low()); }  // the first address, and how many lie from there on
  std::size_t extent() const noexcept { return static_cast<std::size_t>(layout_.get().high() - layout_.get().low()); }
  // The bytes in one piece from `at` on, at most so many.
  std::span<std::byte> piece(std::size_t at, std::size_t most) noexcept {
    go_to(at);
    const layout_cursor::run r = cursor_->take(most);
    return {at_distance(base_, r.offset), r.bytes};
  }
  // The bytes of the data from `at` on. In order they cost O(1) a block.
  void read(std::size_t at, std::span<std::byte> out) noexcept { go_to(at), pack(base_, *cursor_, out); }
  void write(std::size_t at, std::span<const std::byte> in) noexcept { go_to(at), unpack(base_, *cursor_, in); }

 private:
  void go_to(std::size_t at) noexcept {
    if (cursor_->position() != at) cursor_->seek(at);
  }
  kept_layout layout_;
  void* base_ = nullptr;
  std::optional<layout_cursor> cursor_;
};

}  // namespace tutti::messaging
