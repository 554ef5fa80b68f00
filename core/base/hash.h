// FNV-1a at 64 bits: to compare settings and lists between ranks, never for security.
#pragma once
#include <cstdint>
#include <string_view>

namespace tutti::hash {

inline constexpr std::uint64_t start = 0xcbf29ce484222325u;

constexpr std::uint64_t add(std::uint64_t h, std::uint64_t value) noexcept {
  for (int i = 0; i < 8; ++i, value >>= 8) h = (h ^ (value & 0xff)) * 0x100000001b3u;
  return h;
}

constexpr std::uint64_t text(std::string_view s) noexcept {
  std::uint64_t h = start;
  for (char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

}  // namespace tutti::hash
