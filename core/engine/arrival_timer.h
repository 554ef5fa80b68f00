// When to lose patience with something that may have been lost: after the mean of what was waited before and four mean
// deviations, as TCP's retransmission timer (Jacobson 1988), and then ever more rarely.
//
// A wait teaches something only if it was as long as the fabric and the peers make it: not if a repair ended it (Karn and
// Partridge 1987), and not in whole if a third rank waited for its own repair meanwhile. That rank's patience would be
// learned as the fabric's delay, every rank would wait a little longer than the others had, and so on without end: what is
// left of such a wait may shorten patience, its deviation included, and never lengthen it.
//
// Where a repair was premature, because what it repaired came later, the wait is too long to be learned. Then patience is
// doubled, and stays so until a wait without any repair teaches better: else premature repairs, which the others take for
// losses that they waited for, would keep everyone from learning. What came later than twice the patience would not have been
// waited for either: it was as good as lost. One wait counts for at most twice the present patience: a rank that the
// scheduler forgot for a while is soon forgotten too.
//
// Within a wait patience is lost again when it has lasted half as long again. So whoever waits for another's repair is at
// most half that time late itself, and where such waits follow each other they converge; if each were late by the whole,
// the next would wait for that, and every wait would be longer than the last.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "core/base/time_point.h"

namespace tutti {

class arrival_timer {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // Above it a person would notice the loss.
  static constexpr nanoseconds most = std::chrono::milliseconds(100);

  // Ranks that miss the same datagram should not all act at the same moment: each has a `delay` of its own. Once lost,
  // patience lasts for `most_again` at most, until the wait is over.
  explicit arrival_timer(nanoseconds delay = {}, nanoseconds most_again = most) noexcept
      : delay_(delay), most_again_(most_again) {}

  // A wait begins: nothing was there at the first look.
  void begin(time_point now) noexcept {
    since_ = now;
    next_ = now + patience() + delay_;
  }
  time_point next() const noexcept { return next_; }
  // True: patience is lost now, and will be again at next(), when the wait has lasted half as long again.
  bool expired(time_point now) noexcept {
    if (now < next_) return false;
    lost_ = now;
    next_ = now + std::clamp((now - since_) / 2, least, most_again_);
    return true;
  }
  // What was awaited is here, and no repair brought it; for so long it was others' losses that were waited for.
  void learn(time_point now, nanoseconds others) noexcept {
    const auto sample = static_cast<double>(std::clamp(now - since_ - others, nanoseconds{}, 2 * patience()).count());
    const double change = (sample - mean_ns_) / 8, wider = (std::abs(sample - mean_ns_) - deviation_ns_) / 4;
    if (others > nanoseconds{}) {
      deviation_ns_ += std::min(wider, 0.0);
      mean_ns_ += std::min(change, 0.0);
      return;
    }
    deviation_ns_ += wider;
    mean_ns_ += change;
    doublings_ = 0;
  }
  // What had been taken for lost came after all.
  void was_premature(time_point now) noexcept {
    if (now - lost_ <= patience()) doublings_ = std::min(doublings_ + 1, most_doublings);
  }
  nanoseconds patience() const noexcept {
    const double ns = std::max(mean_ns_ + 4 * deviation_ns_, 2 * mean_ns_);
    return std::clamp(nanoseconds(static_cast<std::int64_t>(ns)) * (1 << doublings_), least, most);
  }

 private:
  static constexpr nanoseconds least = std::chrono::microseconds(10);  // below it impatience would race the datagram
  static constexpr int most_doublings = 10;

  nanoseconds delay_, most_again_;
  time_point since_{}, next_{}, lost_{};
  int doublings_ = 0;
  double mean_ns_ = 500e3, deviation_ns_ = 125e3;  // before anything was seen: 1 ms
};

}  // namespace tutti
