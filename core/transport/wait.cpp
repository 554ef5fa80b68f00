#include "core/transport/wait.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

namespace tutti {
namespace {

using namespace std::chrono_literals;

// How long one wait yields, since something last happened, before it sleeps, for each rank that shares the core: they have it in
// turn, and may have something to copy. Longer than any barrier among waiting ranks, shorter than what a person or a battery
// would notice.
constexpr auto yield_time = 500us;

time_point clock_now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace

waiting::waiting(wait_policy policy, double ranks_per_core, const capabilities& caps) noexcept
    : policy_(policy), account_(ranks_per_core), yield_time_(std::max<std::int64_t>(1, std::llround(ranks_per_core)) * yield_time),
      wakes_(caps.can_sleep), shares_core_(ranks_per_core > 1.0) {
  if (caps.virtual_clock) {
    policy_ = wait_policy::sleep;
    spins_ = 0;
  } else if (policy == wait_policy::sleep) {
    spins_ = oversubscribed_spins;
  } else if (ranks_per_core > 1.0 && policy != wait_policy::spin) {
    spins_ = oversubscribed_spins;
  } else {
    spins_ = 4000;  // some 20 us: past every exchange between cores, short of a time slice
  }
  // Where words change only by this rank's own progress, and a turn of it is a system call, polls between turns find
  // nothing: they are there for ranks of this node, which a router may have as well.
  if ((caps.target_must_progress || caps.progress_thread) && caps.cost.latency_us >= 1) {
    polls_a_turn_ = 4;
    spins_ /= 8;
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
    yielded_out_ = overdrawn_ = !account_.may_yield(clock_now);
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
  if (yield_until_ == time_point{}) yield_until_ = before + yield_time_;
  if (account_.is_long(after - before) && !share_.had_all(after)) {
    ++long_yields_;
    yielded_out_ = overdrawn_ = !account_.spend(after - before, after);
  } else if (after >= yield_until_) {
    yielded_out_ = true;
  }
}

void waiting::step(transport& net, std::uint32_t turn, function_ref<bool> still, time_point deadline) noexcept {
  if (should_yield(turn)) {
    yield_once();
    if (net.progress() > 0) came();
    return;
  }
  if (armed open = net.arm()) {
    if (still()) {
      ++sleeps_;
      net.sleep(std::move(open), deadline);
    } else {
      net.disarm();
    }
  }
  if (net.progress() > 0) came();
}

}  // namespace tutti
