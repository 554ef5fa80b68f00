// Copies that stay fast wherever the two ends lie in their pages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti {

// Some processors' string moves (`rep movsb`, by which glibc copies some 2 KiB and more) fall to a fifteenth of their rate where the
// target lies a few bytes further on in its page than the source does in its own: on AMD Zen 3, by 1 to 31 bytes, 2 to 3 GB/s in place of
// 45. A caller's long memory, which malloc() begins 16 bytes into a page, and staging memory, which begins a page, lie just so.
inline constexpr std::size_t awkward_distance = 64, never_by_strings = 2048;

inline bool lies_awkwardly(const void* to, const void* from) noexcept {
  const std::uintptr_t ahead = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  return ahead != 0 && ahead < awkward_distance;
}

// By this processor's vectors, four in each turn of a loop.
[[gnu::noinline]] inline void copy_by_vectors(void* to, const void* from, std::size_t bytes) noexcept {
  constexpr std::size_t four = 64;
  std::byte* target = static_cast<std::byte*>(to);
  const std::byte* source = static_cast<const std::byte*>(from);
  for (; bytes >= four; bytes -= four, target += four, source += four) {
    std::byte held[four];
    std::memcpy(held, source, four);
    std::memcpy(target, held, four);
  }
  if (bytes > 0) std::memcpy(target, source, bytes);
}

// std::memcpy.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (bytes > never_by_strings && lies_awkwardly(to, from)) return copy_by_vectors(to, from, bytes);
  std::memcpy(to, from, bytes);
}

inline bool lie_apart(const void* a, const void* b, std::size_t bytes) noexcept {
  const auto distance = reinterpret_cast<std::uintptr_t>(a) - reinterpret_cast<std::uintptr_t>(b);
  return distance >= bytes && -distance >= bytes;
}

// std::memmove.
inline void move_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (lie_apart(to, from, bytes)) return copy_bytes(to, from, bytes);
  std::memmove(to, from, bytes);
}

}  // namespace tutti
