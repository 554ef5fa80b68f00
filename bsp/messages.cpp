#include "bsp/messages.h"

#include <algorithm>

namespace tutti::bsp {

void message_queue::clear() noexcept {
  all_.clear();
  next_ = 0;
  payload_ = 0;
  block_ = mark_ = 0;
}

void message_queue::add(const message_head& head, const std::byte* tag) {
  all_.push_back({tag, tag + round_up(head.tag_bytes, 16), head.payload_bytes, head.tag_bytes});
  payload_ += head.payload_bytes;
}

std::byte* message_queue::keep(std::uint64_t bytes) {
  const std::size_t need = std::max<std::size_t>(16, round_up(bytes, 16));
  for (; block_ < blocks_.size(); ++block_, mark_ = 0)
    if (need <= blocks_[block_].bytes - mark_) break;
  if (block_ == blocks_.size()) {
    const std::size_t size = std::max<std::size_t>(need, std::size_t{1} << 16);
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
    mark_ = 0;
  }
  std::byte* const at = blocks_[block_].memory.get() + mark_;
  mark_ += need;
  return at;
}

}  // namespace tutti::bsp
