// When to lose patience with something that may have been lost: after the mean of what was waited before and four mean
// deviations, as TCP's retransmission timer (Jacobson 1988), and then ever more rarely.
//
// A wait teaches something only if it was as long as the fabric and the peers make it: not if what ended it is a repair
// (Karn's rule), and not the part of it in which a third rank waited for its own repair. That rank's patience would be
// learned as the fabric's delay, every rank would wait a little longer than the others had, and so on without end.
// Whoever sends knows which datagram is a first one and how late the last repair of the one before was, and says so;
// see learn(). One wait counts for at most twice the present patience: a rank that the scheduler forgot for a while is
// soon forgotten too.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "core/bootstrap.h"

namespace tutti {

class arrival_timer {
 public:
  using nanoseconds = std::chrono::nanoseconds;

  // `share`, 0 to 1: ranks that miss the same datagram should not all complain at the same moment. Patience is longer by
  // this share of `spread`.
  arrival_timer(nanoseconds spread, double share) noexcept
      : delay_(static_cast<std::int64_t>(static_cast<double>(spread.count()) * share)) {}

  // A wait begins: nothing was there at the first look.
  void begin(time_point now) noexcept {
    since_ = now;
    backoff_ = {};
    next_ = now + patience() + delay_;
  }
  bool lost_once() const noexcept { return backoff_ != nanoseconds{}; }
  time_point next() const noexcept { return next_; }
  // True: patience is lost now, and will be again at next().
  bool expired(time_point now) noexcept {
    if (now < next_) return false;
    backoff_ = std::min(lost_once() ? 2 * backoff_ : std::max(now - since_, least), most);
    next_ = now + backoff_;
    return true;
  }
  // What was awaited is here; for so long it was others' losses that were waited for.
  void learn(time_point now, nanoseconds others) noexcept {
    const auto sample = static_cast<double>(std::clamp(now - since_ - others, nanoseconds{}, 2 * patience()).count());
    deviation_ns_ += (std::abs(sample - mean_ns_) - deviation_ns_) / 4;
    mean_ns_ += (sample - mean_ns_) / 8;
  }
  nanoseconds patience() const noexcept {
    const double ns = std::max(mean_ns_ + 4 * deviation_ns_, 2 * mean_ns_);
    return std::clamp(nanoseconds(static_cast<std::int64_t>(ns)), least, most);
  }

 private:
  // Below the least, a complaint would race the datagram; above the most, a person would notice the loss.
  static constexpr nanoseconds least = std::chrono::microseconds(10), most = std::chrono::milliseconds(100);

  nanoseconds delay_, backoff_{};
  time_point since_{}, next_{};
  double mean_ns_ = 500e3, deviation_ns_ = 125e3;  // before anything was seen: 1 ms
};

}  // namespace tutti
