#include "tools/papers/message_barrier.h"

#include <bit>

namespace tutti::tools::papers {

status message_barrier::exchange(std::uint32_t to, std::uint32_t from) noexcept {
  return by_tag_.exchange({&all_, to, 1, nullptr, 0}, {&all_, from, 1, ~std::uint64_t{0}, nullptr, 0, nullptr});
}

status message_barrier::enter() noexcept {
  const std::uint32_t me = all_.index(), size = all_.size();
  if (kind_ == kind::dissemination) {
    for (std::uint32_t far = 1; far < size; far *= 2)
      if (const status s = exchange((me + far) % size, (me + size - far) % size); s.failed()) return s;
    return {};
  }
  const std::uint32_t core = std::bit_floor(size);
  if (me >= core) {
    if (const status s = send(me - core); s.failed()) return s;
    return receive(me - core);
  }
  if (me + core < size)
    if (const status s = receive(me + core); s.failed()) return s;
  for (std::uint32_t far = 1; far < core; far *= 2)
    if (const status s = exchange(me ^ far, me ^ far); s.failed()) return s;
  return me + core < size ? send(me + core) : status{};
}

}  // namespace tutti::tools::papers
