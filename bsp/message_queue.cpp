#include "bsp/message_queue.h"

#include <algorithm>

namespace tutti::bsp {

void message_queue::clear() noexcept {
  all_.clear();
  next_ = 0;
  payload_ = 0;
  used_ = mark_ = 0;
}

bool message_queue::add(const message& m) {
  if (all_.size() == all_.capacity()) {
    const std::size_t more = std::max<std::size_t>(64, all_.size());
    if (!memory_.take(more * sizeof(message))) return false;
    all_.reserve(all_.size() + more);
  }
  all_.push_back(m);
  payload_ += m.bytes;
  return true;
}

// Blocks grow with what is held, so that there are few of them and little is left over at their ends.
std::byte* message_queue::keep(std::uint64_t bytes) {
  constexpr std::uint64_t least = std::uint64_t{1} << 16, most = std::uint64_t{1} << 20;
  const std::uint64_t need = std::max<std::uint64_t>(16, round_up(bytes, 16));
  if (used_ == 0 || need > blocks_[used_ - 1].bytes - mark_) {
    const auto fits = [&](const block& b) { return need <= b.bytes; };
    auto next = std::find_if(blocks_.begin() + static_cast<std::ptrdiff_t>(used_), blocks_.end(), fits);
    if (next == blocks_.end()) {
      const std::uint64_t size = memory_.take(std::max(need, std::clamp(held_, least, most)), need);
      if (size == 0) return nullptr;
      blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
      held_ += size;
      next = blocks_.end() - 1;
    }
    std::swap(blocks_[used_], *next);
    ++used_, mark_ = 0;
  }
  std::byte* const at = blocks_[used_ - 1].memory.get() + mark_;
  mark_ += need;
  return at;
}

void message_queue::spare() noexcept {
  for (; blocks_.size() > used_; blocks_.pop_back()) {
    held_ -= blocks_.back().bytes;
    memory_.give(blocks_.back().bytes);
  }
}

}  // namespace tutti::bsp
