// How many messages at once to one peer, where the library cuts them into datagrams that nothing holds back.
//
// libfabric's udp has up to 128 datagrams under way to each peer and repeats, a millisecond after and then ever more seldom,
// all that are not acknowledged; the kernel keeps some 90 for a rank, of all its peers together. So ranks that sent much at
// once to one that was not looking repeated more than it could ever take in, and did so for as long as it was behind: of
// 16 MiB from each of five, two thirds were lost. (A larger buffer of the kernel's made it worse: it fills with repetitions.)
// But two messages of 12 datagrams, which always fit, leave a peer that keeps up without work for most of the time: it
// acknowledges the last of a batch only when that is repeated, so each pair took 1.2 ms, where ten times as many bytes pass.
//
// So the number follows what messages take, as TCP's window does: one more for each that is acknowledged within one
// repetition; half as many after one that took several, and again only after a message that was sent since then, for those
// before it waited behind the same repetitions.
//
// What libfabric injects it does not report as acknowledged, so nothing is injected where the window moves. Injected signals
// once passed it by: four ranks that sent 2,000 each to a busy machine overran the kernel's buffers, then libfabric's receive
// buffers ("failed to repost"), which it does not get back, and no message arrived any more in one run of three.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tutti::ofi {

class send_window {
 public:
  using time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds quick{2}, slow{4};

  constexpr send_window() noexcept = default;  // as many as there are buffers
  constexpr send_window(std::uint32_t least, std::uint32_t most) noexcept : least_{least}, most_{most}, now_{least} {}

  std::uint32_t messages() const noexcept { return now_; }
  bool moves() const noexcept { return least_ != most_; }
  void acknowledged(time sent, time now) noexcept {
    if (now - sent <= quick) {
      now_ = std::min(now_ + 1, most_);
    } else if (now - sent >= slow && sent >= halved_) {
      now_ = std::max(now_ / 2, least_);
      halved_ = now;
    }
  }

 private:
  std::uint32_t least_ = ~0u, most_ = ~0u, now_ = ~0u;
  time halved_{};
};

}  // namespace tutti::ofi
