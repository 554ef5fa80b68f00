// Blobs in one byte string, each with its length in front, in 8 bytes of this machine's order.
#pragma once
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>

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

// The first blob of a stream, and the stream is what follows it. None: it begins with no whole blob.
inline std::optional<std::span<const std::byte>> next_blob(std::span<const std::byte>& stream) noexcept {
  std::uint64_t bytes;
  if (stream.size() < sizeof bytes) return std::nullopt;
  std::memcpy(&bytes, stream.data(), sizeof bytes);
  if (bytes > stream.size() - sizeof bytes) return std::nullopt;
  const auto blob = stream.subspan(sizeof bytes, bytes);
  stream = stream.subspan(sizeof bytes + bytes);
  return blob;
}

// Null: the stream is not made of `count` whole blobs.
inline std::shared_ptr<blob_table> blobs_in(std::span<const std::byte> stream, std::size_t count) {
  auto blobs = std::make_shared<blob_table>();
  if (count <= stream.size() / sizeof(std::uint64_t)) blobs->reserve(count, stream.size() - count * sizeof(std::uint64_t));
  while (!stream.empty()) {
    const auto blob = next_blob(stream);
    if (!blob || blobs->size() == count) return nullptr;
    blobs->push_back(*blob);
  }
  return blobs->size() == count ? blobs : nullptr;
}

}  // namespace tutti
