// Bytes that tell where they should be, and the sizes at which implementations change their ways.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tests/harness/rank_env.h"

namespace tutti::test {

inline std::byte pattern_byte(std::uint64_t seed, std::size_t i) noexcept {
  std::uint64_t x = (seed + 1) * 0x9E3779B97F4A7C15u + i * 0xBF58476D1CE4E5B9u;
  x ^= x >> 29, x *= 0x94D049BB133111EBu;
  return static_cast<std::byte>(x >> 56);
}

inline void fill(std::span<std::byte> to, std::uint64_t seed) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = pattern_byte(seed, i);
}

inline void paint(std::span<std::byte> to, unsigned value) noexcept {
  if (!to.empty()) std::memset(to.data(), static_cast<int>(value), to.size());
}

inline void check(std::span<const std::byte> seen, std::uint64_t seed, std::string_view what,
                  where at = where::current()) {
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] != pattern_byte(seed, i))
      fail(std::string{what} + ": byte " + std::to_string(i) + " of " + std::to_string(seen.size()) + " is " +
               std::to_string(static_cast<unsigned>(seen[i])) + ", wanted " +
               std::to_string(static_cast<unsigned>(pattern_byte(seed, i))),
           at);
}

inline void check_painted(std::span<const std::byte> seen, unsigned value, std::string_view what,
                          where at = where::current()) {
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] != static_cast<std::byte>(value))
      fail(std::string{what} + ": guard byte " + std::to_string(i) + " of " + std::to_string(seen.size()) + " is " +
               std::to_string(static_cast<unsigned>(seen[i])),
           at);
}

// Around every threshold that anyone is likely to have, and around those that are declared.
inline std::vector<std::uint32_t> threshold_sizes(const capabilities& caps, std::uint32_t largest) {
  std::vector<std::uint64_t> sizes{0,    1,    7,     8,     9,     15,    16,    17,        31,      63,  64,
                                   65,   127,  128,   129,   255,   256,   257,   1023,      1024,    2048, 4095,
                                   4096, 4097, 8191,  8192,  8193,  16384, 32767, 32769,     65535,   65536, 65537,
                                   131072, 262143, 1048579, 3145731};
  for (std::uint64_t d : {std::uint64_t{caps.max_inline}, std::uint64_t{caps.max_bytes}})
    for (std::int64_t off : {-1, 0, 1}) sizes.push_back(d + static_cast<std::uint64_t>(off));
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<std::uint32_t> fit;
  for (std::uint64_t s : sizes)
    if (s <= largest && s <= caps.max_bytes) fit.push_back(static_cast<std::uint32_t>(s));
  return fit;
}

inline rank_t right_of(const rank_env& e) noexcept { return (e.rank + 1) % e.size; }
inline rank_t left_of(const rank_env& e) noexcept { return (e.rank + e.size - 1) % e.size; }

}  // namespace tutti::test
