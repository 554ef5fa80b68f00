#include "core/base/layout.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tutti {
namespace {

std::string number(std::size_t n) { return std::to_string(n); }

status null_list(const char* what) { return {errc::invalid, worded("the layout's ", what, " is NULL; pass the list")}; }
status too_many_bytes() {
  return {errc::invalid, worded("the layout lists more than ", number(PTRDIFF_MAX),
                                " bytes, which no memory holds; use lower counts or lengths")};
}
status too_far(const std::string& what) {
  return {errc::invalid, worded("the layout's ", what, " leads beyond the reach of an address; use offsets and strides in bytes")};
}

}  // namespace

result<block_layout> block_layout::contiguous(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return too_many_bytes();
  block_layout l;
  l.bytes_ = l.block_ = bytes;
  l.high_ = static_cast<std::ptrdiff_t>(bytes);
  return l;
}

result<block_layout> block_layout::strided(std::size_t block_bytes, std::size_t dimensions, const std::size_t* counts,
                                         const std::ptrdiff_t* strides) {
  if (dimensions > most_dimensions)
    return status{errc::invalid, worded("the layout has ", number(dimensions), " dimensions, where ", number(most_dimensions),
                                        " are the most; list its blocks by TUTTI_INDEXED")};
  if (dimensions > 0 && !counts) return null_list("counts");
  if (dimensions > 0 && !strides) return null_list("strides");
  // A count of 0 empties the layout, whatever the others would come to.
  if (block_bytes == 0 || std::find(counts, counts + dimensions, std::size_t{0}) != counts + dimensions) return block_layout{};
  block_layout l;
  l.bytes_ = block_bytes;
  bool overflow = block_bytes > PTRDIFF_MAX;
  for (std::size_t d = 0; d < dimensions; ++d) overflow = overflow || __builtin_mul_overflow(l.bytes_, counts[d], &l.bytes_) || l.bytes_ > PTRDIFF_MAX;
  if (overflow) return too_many_bytes();
  l.block_ = block_bytes;
  l.high_ = static_cast<std::ptrdiff_t>(block_bytes);
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::ptrdiff_t reach;
    if (__builtin_mul_overflow(static_cast<std::ptrdiff_t>(counts[d] - 1), strides[d], &reach) ||
        (reach < 0 ? __builtin_add_overflow(l.low_, reach, &l.low_) : __builtin_add_overflow(l.high_, reach, &l.high_)))
      return too_far("count " + number(counts[d]) + " with stride " + std::to_string(strides[d]));
  }
  if (std::ptrdiff_t extent; __builtin_sub_overflow(l.high_, l.low_, &extent)) return too_far("sum of strides");
  // From the innermost outwards, which ends at the back of the lists until they are moved to the front.
  std::size_t first = most_dimensions;
  for (std::size_t d = dimensions; d-- > 0;) {
    if (counts[d] == 1) continue;
    if (first == most_dimensions && strides[d] == static_cast<std::ptrdiff_t>(l.block_)) {
      l.block_ *= counts[d];
    } else if (std::ptrdiff_t whole; first < most_dimensions &&
               !__builtin_mul_overflow(static_cast<std::ptrdiff_t>(l.counts_[first]), l.strides_[first], &whole) && strides[d] == whole) {
      l.counts_[first] *= counts[d];
    } else {
      --first;
      l.counts_[first] = counts[d], l.strides_[first] = strides[d];
    }
  }
  l.dimensions_ = most_dimensions - first;
  std::copy(l.counts_ + first, l.counts_ + most_dimensions, l.counts_);
  std::copy(l.strides_ + first, l.strides_ + most_dimensions, l.strides_);
  return l;
}

result<block_layout> block_layout::indexed(std::size_t blocks, const std::ptrdiff_t* offsets, const std::size_t* lengths,
                                         std::size_t block_bytes) {
  if (blocks == 0) return block_layout{};
  if (!offsets) return null_list("offsets");
  block_layout l;
  l.low_ = PTRDIFF_MAX, l.high_ = PTRDIFF_MIN;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t n = lengths ? lengths[i] : block_bytes;
    if (n == 0) continue;
    if (n > PTRDIFF_MAX || __builtin_add_overflow(l.bytes_, n, &l.bytes_) || l.bytes_ > PTRDIFF_MAX) return too_many_bytes();
    std::ptrdiff_t end;
    if (__builtin_add_overflow(offsets[i], static_cast<std::ptrdiff_t>(n), &end))
      return too_far("block " + number(i) + " of " + number(n) + " bytes at offset " + std::to_string(offsets[i]));
    l.low_ = std::min(l.low_, offsets[i]), l.high_ = std::max(l.high_, end);
  }
  if (l.bytes_ == 0) return block_layout{};
  if (std::ptrdiff_t extent; __builtin_sub_overflow(l.high_, l.low_, &extent)) return too_far("list of offsets");
  l.blocks_ = blocks, l.offsets_ = offsets, l.lengths_ = lengths, l.block_ = block_bytes;
  return l;
}

std::size_t block_layout::blocks() const noexcept {
  if (bytes_ == 0) return 0;
  if (offsets_) return blocks_;
  std::size_t all = 1;
  for (std::size_t d = 0; d < dimensions_; ++d) all *= counts_[d];
  return all;
}

// --- cursor --------------------------------------------------------------------------------------------------------------

void layout_cursor::restart() noexcept {
  position_ = inside_ = block_ = 0, at_ = 0;
  std::fill(index_, index_ + block_layout::most_dimensions, std::size_t{0});
  if (layout_->offsets_) skip_empty();
}

// Indexed: to the next block that has bytes. There is one, unless the position is at the end.
void layout_cursor::skip_empty() noexcept {
  while (block_ < layout_->blocks_ && length() == 0) ++block_;
  if (block_ < layout_->blocks_) at_ = layout_->offsets_[block_];
}

void layout_cursor::next_block() noexcept {
  inside_ = 0;
  if (layout_->offsets_) {
    ++block_;
    return skip_empty();
  }
  for (std::size_t d = layout_->dimensions_; d-- > 0;) {
    if (++index_[d] < layout_->counts_[d]) {
      at_ += layout_->strides_[d];
      return;
    }
    at_ -= static_cast<std::ptrdiff_t>(index_[d] - 1) * layout_->strides_[d];
    index_[d] = 0;
  }
}

layout_cursor::run layout_cursor::take(std::size_t most) noexcept {
  run r{at_ + static_cast<std::ptrdiff_t>(inside_), 0};
  most = std::min(most, left());
  while (r.bytes < most) {
    const std::size_t n = std::min(length() - inside_, most - r.bytes);
    r.bytes += n, inside_ += n, position_ += n;
    if (left() == 0) break;  // behind the last block there is none
    if (inside_ < length()) break;
    next_block();
    if (at_ != r.offset + static_cast<std::ptrdiff_t>(r.bytes)) break;
  }
  return r;
}

void layout_cursor::seek(std::size_t position) noexcept {
  const block_layout& l = *layout_;
  if (position < position_ || !l.lengths_) restart();
  if (position == l.bytes_) {
    position_ = position;
    return;
  }
  if (l.lengths_) {
    for (std::size_t skip = position - position_; skip > 0;) {
      const std::size_t n = std::min(length() - inside_, skip);
      inside_ += n, position_ += n, skip -= n;
      if (inside_ == length()) next_block();
    }
    return;
  }
  if (l.block_ == 0) return;
  std::size_t block = position / l.block_;
  inside_ = position % l.block_, position_ = position;
  if (l.offsets_) {
    block_ = block, at_ = l.offsets_[block];
    return;
  }
  for (std::size_t d = l.dimensions_; d-- > 0; block /= l.counts_[d]) {
    index_[d] = block % l.counts_[d];
    at_ += static_cast<std::ptrdiff_t>(index_[d]) * l.strides_[d];
  }
}

// --- copies --------------------------------------------------------------------------------------------------------------

void pack(const void* base, layout_cursor& c, std::span<std::byte> out) noexcept {
  for (std::size_t done = 0; done < out.size();) {
    const layout_cursor::run r = c.take(out.size() - done);
    copy_block(out.data() + done, at_distance(base, r.offset), r.bytes);
    done += r.bytes;
  }
}

void unpack(void* base, layout_cursor& c, std::span<const std::byte> in) noexcept {
  for (std::size_t done = 0; done < in.size();) {
    const layout_cursor::run r = c.take(in.size() - done);
    copy_block(at_distance(base, r.offset), in.data() + done, r.bytes);
    done += r.bytes;
  }
}

// A run of each end is the longest there is, so the shorter of the two is the longest that is in one piece at both.
bool joint_walk::next(run& out) noexcept {
  if (a_.bytes == 0) a_ = here_.take();
  if (b_.bytes == 0) b_ = there_.take();
  const std::size_t n = std::min(a_.bytes, b_.bytes);
  out = {a_.offset, b_.offset, n};
  a_.offset += static_cast<std::ptrdiff_t>(n), a_.bytes -= n;
  b_.offset += static_cast<std::ptrdiff_t>(n), b_.bytes -= n;
  return n > 0;
}

void kept_layout::keep(const block_layout& l) {
  if (l.offsets_) offsets_.assign(l.offsets_, l.offsets_ + l.blocks_);
  if (l.lengths_) lengths_.assign(l.lengths_, l.lengths_ + l.blocks_);
  layout_ = l;
  if (l.offsets_) layout_.offsets_ = offsets_.data();
  if (l.lengths_) layout_.lengths_ = lengths_.data();
}

}  // namespace tutti
