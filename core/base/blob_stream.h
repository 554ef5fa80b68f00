// Blobs in one byte string, each with its length in front, in 8 bytes of this machine's order.
#pragma once
#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "core/base/blob_table.h"

namespace tutti {

inline void add_blob(std::vector<std::byte>& stream, std::span<const std::byte> blob) {
  const std::uint64_t bytes = blob.size();
  const std::size_t at = stream.size();
  stream.resize(at + sizeof bytes + blob.size());
  std::memcpy(stream.data() + at, &bytes, sizeof bytes);
  std::ranges::copy(blob, stream.begin() + static_cast<std::ptrdiff_t>(at + sizeof bytes));
}

inline std::vector<std::byte> joined(std::initializer_list<std::span<const std::byte>> blobs) {
  std::vector<std::byte> stream;
  for (const auto blob : blobs) add_blob(stream, blob);
  return stream;
}

// Null: the stream is not made of whole blobs.
inline std::shared_ptr<blob_table> blobs_in(std::span<const std::byte> stream) {
  auto blobs = std::make_shared<blob_table>();
  while (!stream.empty()) {
    std::uint64_t bytes;
    if (stream.size() < sizeof bytes) return nullptr;
    std::memcpy(&bytes, stream.data(), sizeof bytes);
    stream = stream.subspan(sizeof bytes);
    if (bytes > stream.size()) return nullptr;
    blobs->push_back(stream.first(bytes));
    stream = stream.subspan(bytes);
  }
  return blobs;
}

// Null: the stream is not made of `count` whole blobs.
inline std::shared_ptr<blob_table> blobs_in(std::span<const std::byte> stream, std::size_t count) {
  auto blobs = blobs_in(stream);
  return blobs && blobs->size() == count ? blobs : nullptr;
}

}  // namespace tutti
