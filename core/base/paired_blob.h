// Two byte strings in one: the address or the key of a transport that is made of two. Four bytes of length (little
// endian), the first string, the second.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

inline std::vector<std::byte> pair_blobs(std::span<const std::byte> first, std::span<const std::byte> second) {
  std::vector<std::byte> both;
  both.reserve(4 + first.size() + second.size());
  for (unsigned shift = 0; shift < 32; shift += 8) both.push_back(static_cast<std::byte>(first.size() >> shift & 0xff));
  both.insert(both.end(), first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

struct blob_pair {
  std::span<const std::byte> first, second;
};

// False: `both` was not made by pair_blobs().
inline bool split_blob(std::span<const std::byte> both, blob_pair& out) noexcept {
  if (both.size() < 4) return false;
  std::size_t length = 0;
  for (unsigned i = 0; i < 4; ++i) length |= std::to_integer<std::size_t>(both[i]) << 8 * i;
  if (length > both.size() - 4) return false;
  out = {both.subspan(4, length), both.subspan(4 + length)};
  return true;
}

}  // namespace tutti
