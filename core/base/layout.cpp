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
  if (offsets_ || parts_) return blocks_;
  std::size_t all = 1;
  for (std::size_t d = 0; d < dimensions_; ++d) all *= counts_[d];
  return all;
}

// --- nested --------------------------------------------------------------------------------------------------------------

status layout_nest::add(std::ptrdiff_t offset, std::size_t count, std::ptrdiff_t stride, const block_layout& inner) {
  if (count == 0 || inner.bytes_ == 0) return {};
  layout_part p{.begin = out_.bytes_, .bytes = inner.bytes_, .count = count, .offset = offset, .stride = stride, .first = 0, .last = 0};
  std::size_t all;
  if (count > PTRDIFF_MAX || __builtin_mul_overflow(count, p.bytes, &all) || __builtin_add_overflow(out_.bytes_, all, &out_.bytes_) || out_.bytes_ > PTRDIFF_MAX)
    return too_many_bytes();
  std::ptrdiff_t low, high, reach, extent;
  bool far = __builtin_add_overflow(offset, inner.low_, &low) || __builtin_add_overflow(offset, inner.high_, &high) ||
             __builtin_mul_overflow(static_cast<std::ptrdiff_t>(count - 1), stride, &reach);
  far = far || (reach < 0 ? __builtin_add_overflow(low, reach, &low) : __builtin_add_overflow(high, reach, &high));
  if (far) return too_far("part of count " + number(count) + " with stride " + std::to_string(stride) + " at offset " + std::to_string(offset));
  const bool first = p.begin == 0;
  out_.low_ = first ? low : std::min(out_.low_, low), out_.high_ = first ? high : std::max(out_.high_, high);
  if (__builtin_sub_overflow(out_.high_, out_.low_, &extent)) return too_far("list of offsets");

  place();
  const bool known = (inner.parts_ || inner.offsets_) && inner.parts_ == recent_.parts_ && inner.offsets_ == recent_.offsets_ &&
                     inner.lengths_ == recent_.lengths_ && inner.blocks_ == recent_.blocks_ && inner.block_ == recent_.block_;
  if (!known) recent_ = inner, recent_list_ = {};
  added_ = p;
  return {};
}

void layout_nest::place() {
  if (added_.count == 0) return;
  if (recent_list_.blocks == 0) recent_list_ = list(recent_);
  out_.blocks_ += added_.count * recent_list_.blocks;
  layout_part p = added_;
  p.first = recent_list_.first, p.last = recent_list_.last;
  if (p.last - p.first == 1) {  // one list or block, and this or that is there once
    const layout_part& only = below_[p.first];
    if (p.count == 1 || only.count == 1) {
      p = only, p.begin = added_.begin, p.offset += added_.offset;
      if (only.count == 1) p.count = added_.count, p.stride = added_.stride;
    }
  }
  entries_.push_back(p);
  added_.count = 0;
}

layout_nest::range layout_nest::list(const block_layout& l) {
  const std::size_t first = below_.size();
  if (l.parts_) {
    for (layout_part p : *l.parts_) {
      if (!p.is_block()) p.first += first, p.last += first;
      below_.push_back(p);
    }
    return {first, first + l.outermost_, l.blocks_};
  }
  if (l.offsets_) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < l.blocks_; ++i)
      if (const std::size_t n = l.lengths_ ? l.lengths_[i] : l.block_; n > 0) {
        below_.push_back({.begin = begin, .bytes = n, .count = 1, .offset = l.offsets_[i], .stride = 0, .first = 0, .last = 0});
        begin += n;
      }
    return {first, below_.size(), below_.size() - first};
  }
  std::size_t bytes = l.bytes_;  // each dimension is a list of one entry
  for (std::size_t d = 0; d < std::max<std::size_t>(l.dimensions_, 1); ++d) {
    const bool innermost = d + 1 >= l.dimensions_;
    const std::size_t count = l.dimensions_ > 0 ? l.counts_[d] : 1, next = innermost ? 0 : below_.size() + 1;
    bytes /= count;
    below_.push_back({.begin = 0, .bytes = bytes, .count = count, .offset = d == 0 ? l.start_ : 0, .stride = l.strides_[d], .first = next,
                      .last = innermost ? 0 : next + 1});
  }
  return {first, first + 1, l.blocks()};
}

result<block_layout> layout_nest::finish() {
  if (out_.bytes_ == 0) return block_layout{};
  if (entries_.empty() && !recent_.parts_ && !recent_.offsets_ && recent_.dimensions_ < block_layout::most_dimensions) {
    std::size_t counts[block_layout::most_dimensions] = {added_.count};
    std::ptrdiff_t strides[block_layout::most_dimensions] = {added_.stride};
    std::copy_n(recent_.counts_, recent_.dimensions_, counts + 1), std::copy_n(recent_.strides_, recent_.dimensions_, strides + 1);
    auto l = block_layout::strided(recent_.block_, recent_.dimensions_ + 1, counts, strides);
    if (l) (*l).low_ = out_.low_, (*l).high_ = out_.high_, (*l).start_ = added_.offset + recent_.start_;
    return l;
  }
  place();
  auto parts = std::make_shared<std::vector<layout_part>>(std::move(entries_));
  out_.outermost_ = parts->size();
  parts->insert(parts->end(), below_.begin(), below_.end());
  for (layout_part& p : *parts)
    if (!p.is_block()) p.first += out_.outermost_, p.last += out_.outermost_;
  out_.parts_ = std::move(parts);
  return std::move(out_);
}

// --- cursor --------------------------------------------------------------------------------------------------------------

void layout_cursor::restart() noexcept {
  position_ = inside_ = block_ = 0, at_ = layout_->start_, length_ = layout_->block_;
  if (layout_->parts_) return descend(0);
  std::fill(index_, index_ + block_layout::most_dimensions, std::size_t{0});
  if (layout_->offsets_) skip_empty();
}

// Nested: to the block that holds the byte, which there is.
void layout_cursor::descend(std::size_t position) noexcept {
  const layout_part* const parts = layout_->parts_->data();
  const layout_part *first = parts, *last = parts + layout_->outermost_;
  in_.around = nullptr, in_.turn = 0, in_.at = 0;
  for (;;) {
    const layout_part* const p = std::upper_bound(first, last, position, [](std::size_t at, const layout_part& q) { return at < q.begin; }) - 1;
    position -= p->begin;
    const std::size_t turn = position / p->bytes;
    position -= turn * p->bytes;
    if (p->is_block()) {
      in_.part = p;
      begin_blocks();
      block_ = turn, inside_ = position, at_ += static_cast<std::ptrdiff_t>(turn) * p->stride;
      return;
    }
    in_.around = p, in_.turn = turn, in_.at += p->offset + static_cast<std::ptrdiff_t>(turn) * p->stride;
    first = parts + p->first, last = parts + p->last;
  }
}

void layout_cursor::begin_blocks() noexcept {
  const layout_part& p = *in_.part;
  block_ = inside_ = 0, at_ = in_.at + p.offset, length_ = p.bytes;
}

// Nested, behind the last block of a part: to the first one of the next, in the list or in its next time, where that is of blocks.
void layout_cursor::next_part() noexcept {
  const layout_part* const parts = layout_->parts_->data();
  const layout_part* const around = in_.around;
  if (++in_.part == parts + (around ? around->last : layout_->outermost_)) {
    if (!around || ++in_.turn == around->count) return descend(position_);
    in_.at += around->stride, in_.part = parts + around->first;
  }
  return in_.part->is_block() ? begin_blocks() : descend(position_);
}

// Indexed: to the next block that has bytes. There is one, unless the position is at the end.
void layout_cursor::skip_empty() noexcept {
  while (block_ < layout_->blocks_ && length() == 0) ++block_;
  if (block_ < layout_->blocks_) at_ = layout_->offsets_[block_];
}

void layout_cursor::next_block() noexcept {
  inside_ = 0;
  if (layout_->parts_) {
    if (++block_ == in_.part->count) return next_part();
    at_ += in_.part->stride;
    return;
  }
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
  if (l.parts_ && position < l.bytes_) return position_ = position, descend(position);
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
