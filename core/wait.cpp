#include "core/wait.h"

#include <sched.h>

#include <algorithm>

namespace tutti {
namespace {

using namespace std::chrono_literals;

// A sched_yield() among ranks that only wait returns within microseconds even with dozens of them on a core; a
// stranger's time slice is at least 700 us (the scheduler's base slice) and usually 3 ms.
constexpr auto too_long = 400us;
// How long one wait yields before it sleeps. Longer than any barrier among waiting ranks, shorter than what a person
// or a battery would notice.
constexpr auto yield_time = 500us;
constexpr std::uint32_t calm_enough = 100000;

time_point clock_now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace

waiting::waiting(wait_policy policy, double ranks_per_core, const capabilities& caps) noexcept : policy_(policy) {
  if (caps.virtual_clock) {
    policy_ = wait_policy::sleep;
    spins_ = 0;
  } else if (policy == wait_policy::sleep) {
    spins_ = 32;
  } else if (ranks_per_core > 1.0 && policy != wait_policy::spin) {
    spins_ = 32;
  } else {
    spins_ = 4000;  // some 20 us: past every exchange between cores, short of a time slice
  }
}

bool waiting::should_yield(std::uint32_t turn) noexcept {
  switch (policy_) {
    case wait_policy::spin:
    case wait_policy::yield: return true;
    case wait_policy::sleep: return false;
    case wait_policy::automatic: break;
  }
  if (turn == 0) {
    yielded_out_ = shy_ > 0;
    if (shy_ > 0) --shy_;
    yield_until_ = {};
  }
  return !yielded_out_;
}

void waiting::yield_once() noexcept {
  if (policy_ == wait_policy::spin) {
    cpu_relax();
    return;
  }
  const time_point before = clock_now();
  sched_yield();
  const time_point after = clock_now();
  if (policy_ != wait_policy::automatic) return;
  if (yield_until_ == time_point{}) yield_until_ = before + yield_time;
  if (after - before > too_long) {
    ++strangers_;
    shy_ = shyness_;
    shyness_ = std::min(shyness_ * 2, last_shy);
    calm_ = 0;
    yielded_out_ = true;
  } else {
    if (++calm_ >= calm_enough) shyness_ = first_shy, calm_ = 0;
    if (after >= yield_until_) yielded_out_ = true;
  }
}

void waiting::step(transport& net, std::uint32_t turn, function_ref<bool> still, time_point deadline) noexcept {
  if (should_yield(turn)) {
    yield_once();
    net.progress();
    return;
  }
  if (net.arm(transport::wake_by::sleep)) {
    if (still()) {
      ++sleeps_;
      net.sleep(deadline);
    } else {
      net.disarm();
    }
  }
  net.progress();
}

}  // namespace tutti
