// Bits that nobody can guess, from the kernel's generator (getrandom(2)).
#pragma once
#include <sys/random.h>

#include <span>

namespace tutti {

// Fills a plain value, such as a key. False: the kernel gives none, and the value must not be used.
template <class T>
[[nodiscard]] bool draw(T& value) noexcept {
  const auto bytes = std::as_writable_bytes(std::span{&value, 1});
  static_assert(sizeof value <= 256);  // more may come in parts
  return ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

}  // namespace tutti
