// Copies into memory that another core reads, and has read before.
//
// A plain store needs its line for itself. Where the reader's core shares no cache with the writer's, the line comes from there, and stores
// wait for each other: 64 KiB took 18 us on AMD Zen 3. Streaming stores (non-temporal ones) ask for no line: 3 us, and the reader has the
// data as fast as before, in 6. Where the two cores share a cache, plain stores take 5 us, and the reader has the data in 2 instead of 6.
// No prior tells which it is, and in a virtual machine it changes while a program runs. So the writer looks at the clock: two slow plain
// copies, and it tries a streaming one, and a plain one again; what was faster stays for many copies, then it looks again.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/copy.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti {

// By streaming stores, with a fence behind them: what is stored later is seen later. Elsewhere than on x86, std::memcpy.
inline void stream_bytes(void* to, const void* from, std::size_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr std::size_t line = 64, vector = sizeof(__m128i);
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(target) % line);
  if (before > 0) std::memcpy(target, source, before);
  target += before, source += before, bytes -= before;
  for (; bytes >= line; bytes -= line, target += line, source += line)
    for (std::size_t i = 0; i < line; i += vector)
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
  _mm_sfence();
  if (bytes > 0) std::memcpy(target, source, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}

// Of one writer, and of readers on one core.
class shared_writer {
 public:
  static constexpr std::size_t least = 2048;  // bytes; fewer are not worth a look at the clock

  // As std::memcpy.
  void copy(void* to, const void* from, std::size_t bytes) noexcept {
    if (bytes < least) return copy_bytes(to, from, bytes);
    if (left_ > 0) {
      --left_;
      return streams_ ? stream_bytes(to, from, bytes) : copy_bytes(to, from, bytes);
    }
    const auto begun = std::chrono::steady_clock::now();
    if (tries_) stream_bytes(to, from, bytes);
    else copy_bytes(to, from, bytes);
    judge(static_cast<float>(bytes) / std::chrono::duration<float, std::nano>(std::chrono::steady_clock::now() - begun).count());
  }
  bool streams() const noexcept { return streams_; }
  bool looks_next() const noexcept { return left_ == 0; }  // at the clock, in the next long copy

  // What the last copy that was timed means, in bytes a nanosecond.
  void judge(float rate) noexcept {
    if (std::exchange(tries_, false)) {
      streamed_ = rate;  // and a plain one once more: what slowed the others down may be over
    } else if (rate >= fast) {
      streams_ = was_slow_ = false, streamed_ = 0;
      left_ = some;
    } else if (streamed_ > 0) {
      streams_ = std::exchange(streamed_, 0) > worthwhile * rate;
      left_ = many;
    } else {
      tries_ = std::exchange(was_slow_, true);  // once may be chance: this rank lost its core
    }
  }

 private:
  static constexpr float fast = 7, worthwhile = 1.5;
  static constexpr std::uint8_t some = 15, many = 255;  // copies between two looks

  float streamed_ = 0;  // the rate of a streaming copy that is tried; 0: none
  std::uint8_t left_ = 0;
  bool streams_ = false, tries_ = false, was_slow_ = false;
};

}  // namespace tutti
