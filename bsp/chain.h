// A chain of chunks under construction: bytes are appended at `at`, up to `end`.
#pragma once
#include "bsp/arena.h"

namespace tutti::bsp {

class chain {
 public:
  // What appends look at; the owner of the chain moves `at`.
  std::byte* at = nullptr;
  std::byte* end = nullptr;

  bool empty() const noexcept { return first_ == 0; }
  location first() const noexcept { return first_; }
  location current() const noexcept { return current_; }
  chunk_head& head(const arena& a) const noexcept { return *reinterpret_cast<chunk_head*>(a.at(first_)); }
  std::size_t room() const noexcept { return static_cast<std::size_t>(end - at); }
  std::size_t chunk_bytes() const noexcept { return bytes_; }  // of all its chunks

  void clear() noexcept { at = end = nullptr, first_ = current_ = 0, bytes_ = 0; }
  // Begins with this chunk, which is the owner's.
  void start(const arena& a, location chunk, std::size_t bytes) noexcept;
  // Goes on in a new chunk of `bytes`, head included.
  status extend(arena&, unsigned half, std::size_t bytes, stage);
  // The chain is complete.
  void seal(const arena&, stage) noexcept;

 private:
  void close(const arena&, stage, location next) noexcept;
  location first_ = 0, current_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tutti::bsp
