// SipHash-2-4 (Aumasson and Bernstein 2012): a short keyed check of a message, which tells a job's own datagrams from others'.
// Without the 128-bit key, a right value is one guess among 2^64.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tutti {

using siphash_key = std::array<std::uint64_t, 2>;

// The value depends on the bytes that were added, not on the pieces in which they came. Words are read as this machine stores
// them; the reference values are those of a little-endian machine.
class siphash {
 public:
  explicit siphash(const siphash_key& k) noexcept
      : v_{k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du, k[0] ^ 0x6c7967656e657261u,
           k[1] ^ 0x7465646279746573u} {}

  void add(std::span<const std::byte> bytes) noexcept {
    total_ += bytes.size();
    if (waiting_) {
      const std::size_t n = std::min<std::size_t>(8 - waiting_, bytes.size());
      std::memcpy(reinterpret_cast<std::byte*>(&word_) + waiting_, bytes.data(), n);
      waiting_ += n;
      bytes = bytes.subspan(n);
      if (waiting_ < 8) return;
      take(word_);
    }
    std::uint64_t word;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      std::memcpy(&word, bytes.data(), 8);
      take(word);
    }
    word_ = 0;
    waiting_ = bytes.size();
    if (waiting_) std::memcpy(&word_, bytes.data(), waiting_);
  }

  // To be called once, at the end.
  std::uint64_t value() noexcept {
    take(word_ | static_cast<std::uint64_t>(total_) << 56);
    v_[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  void take(std::uint64_t m) noexcept {
    v_[3] ^= m;
    round();
    round();
    v_[0] ^= m;
  }
  void round() noexcept {
    auto& [a, b, c, d] = v_;
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }

  std::array<std::uint64_t, 4> v_;
  std::uint64_t word_ = 0;
  std::size_t waiting_ = 0, total_ = 0;
};

}  // namespace tutti
