// How long a trial of what a provider advertises may last. On a quiet machine the work that the trying thread does is the time
// that passes; where many ranks start on few cores it gets little of either, and what works is not to be called broken for
// that. So its own processor time counts, and the clock only beside it.
#pragma once
#include <chrono>
#include <ctime>

namespace tutti::ofi {

inline std::chrono::nanoseconds own_cpu_time() noexcept {
  std::timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

class trial_time {
 public:
  bool over() const noexcept {
    return own_cpu_time() > worked_until_ || std::chrono::steady_clock::now() > waits_until_;
  }

 private:
  std::chrono::nanoseconds worked_until_ = own_cpu_time() + std::chrono::seconds{6};
  std::chrono::steady_clock::time_point waits_until_ = std::chrono::steady_clock::now() + std::chrono::seconds{45};
};

}  // namespace tutti::ofi
