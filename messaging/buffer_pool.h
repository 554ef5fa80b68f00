// Buffers for what is kept for a while: payloads that nobody receives yet, messages that the fabric refused. Free ones are kept by size,
// powers of two from 64 bytes on, so the steady state allocates nothing; what is held at most is what was ever in use at once, rounded up.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

namespace tutti::messaging {

class buffer_pool {
 public:
  buffer_pool() = default;
  ~buffer_pool() {
    for (node*& list : free_)
      while (list) {
        node* const gone = list;
        list = gone->next;
        ::operator delete(gone, std::align_val_t{64});
      }
  }
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  std::byte* take(std::size_t bytes) noexcept {  // aligned to 64; null: out of memory
    const unsigned c = class_of(bytes);
    if (c >= classes) return nullptr;
    if (node* const n = free_[c]) {
      free_[c] = n->next;
      return reinterpret_cast<std::byte*>(n);
    }
    return make(c);
  }
  void give(std::byte* buffer, std::size_t bytes) noexcept {  // `bytes` as it was taken with
    node* const n = new (buffer) node;
    node*& list = free_[class_of(bytes)];
    n->next = list;
    list = n;
  }
  std::uint64_t bytes() const noexcept { return bytes_; }  // ever taken from the system

 private:
  struct node {
    node* next;
  };
  static constexpr unsigned classes = 26;  // up to 2 GiB
  static unsigned class_of(std::size_t bytes) noexcept {
    return bytes <= 64 ? 0u : static_cast<unsigned>(std::bit_width((bytes - 1) >> 6));
  }
  [[gnu::cold]] std::byte* make(unsigned c) noexcept {
    void* const p = ::operator new(std::size_t{64} << c, std::align_val_t{64}, std::nothrow);
    if (p) bytes_ += std::uint64_t{64} << c;
    return static_cast<std::byte*>(p);
  }

  std::array<node*, classes> free_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace tutti::messaging
