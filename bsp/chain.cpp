#include "bsp/chain.h"

#include <new>

namespace tutti::bsp {

void chain::start(const arena& a, location chunk, std::size_t bytes) noexcept {
  first_ = current_ = chunk;
  bytes_ = bytes;
  std::byte* const base = a.at(chunk);
  new (base) chunk_head{};
  at = base + sizeof(chunk_head);
  end = base + bytes;
}

status chain::extend(arena& a, unsigned half, std::size_t bytes, stage s) {
  auto taken = a.take(half, bytes);
  if (!taken) return taken.error();
  if (empty()) {
    start(a, *taken, bytes);
    return {};
  }
  close(a, s, *taken);
  const location first = first_;
  const std::size_t before = bytes_;
  start(a, *taken, bytes);
  first_ = first, bytes_ += before;
  return {};
}

void chain::close(const arena& a, stage s, location next) noexcept {
  std::byte* const base = a.at(current_);
  auto& h = *reinterpret_cast<chunk_head*>(base);
  h.used.bytes = static_cast<std::uint32_t>(at - base);
  h.used.note = make_note(s, next == 0);
  h.next = next;
}

void chain::seal(const arena& a, stage s) noexcept { close(a, s, 0); }

}  // namespace tutti::bsp
