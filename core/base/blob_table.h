// One byte string for each member of a group: addresses, keys, whatever an exchange brought. Lengths may differ.
// Shared and immutable once built, so that many virtual ranks of one process keep a single copy.
#pragma once
#include <any>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tutti {

class blob_table {
 public:
  blob_table() : ends_{} {}
  std::size_t size() const noexcept { return ends_.size(); }
  std::span<const std::byte> operator[](std::size_t i) const noexcept {
    const std::size_t begin = i ? ends_[i - 1] : 0;
    return {bytes_.data() + begin, ends_[i] - begin};
  }
  // Room for so many blobs, of so many bytes together.
  void reserve(std::size_t blobs, std::size_t bytes) { bytes_.reserve(bytes), ends_.reserve(blobs); }
  void push_back(std::span<const std::byte> blob) {
    bytes_.insert(bytes_.end(), blob.begin(), blob.end());
    ends_.push_back(bytes_.size());
  }

  // What its holders make of it, kept with it. Where many hold the very same table, as the virtual ranks of a thread do, one of
  // them makes it for all. No part of it may hold the table.
  mutable std::any derived;

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> ends_;  // ends_[i]: one past the last byte of blob i
};

using shared_blobs = std::shared_ptr<const blob_table>;

}  // namespace tutti
