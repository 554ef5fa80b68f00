// How a rank waits: spin while that is likely to be short and cores suffice, then yield for a bounded time, then sleep,
// by what it has seen.
//
// Ranks often outnumber cores. Yielding is then the fastest way to hand a core to the rank one waits for, as long as
// only ranks of the job share it; one busy stranger makes each sched_yield() last a whole time slice (milliseconds),
// because it gives the core to the stranger as well. A sleeper, on the other hand, is put back in front of the
// stranger by its wake-up, for a constant 30 to 50 us. So a rank keeps an account: every wait by yielding saves what a
// sleep would have cost, every yield that lasted far too long spends its length. While it is in credit it yields, and a
// stranger who passes by now and then changes nothing. Once overdrawn it sleeps at once in its next waits, and tries
// yielding again only now and then, ever more rarely while the stranger stays.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/transport.h"

namespace tutti {

enum class wait_policy : std::uint8_t { automatic, spin, yield, sleep };

inline void cpu_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// A callable by reference, for slow paths that must not be templates.
template <class R>
class function_ref {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, function_ref>>>
  function_ref(F&& f) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o) -> R { return (*static_cast<std::remove_reference_t<F>*>(o))(); }) {}
  R operator()() const { return call_(object_); }

 private:
  void* object_;
  R (*call_)(void*);
};

class waiting {
 public:
  waiting() = default;
  // ranks_per_core: ranks of this node divided by the cores they may use; above 1 nobody spins for long.
  waiting(wait_policy policy, double ranks_per_core, const capabilities& caps) noexcept;

  static constexpr std::uint32_t crowded_spins = 32;
  // Polls before the first yield, for the caller's own fast loop, and how many of them for each turn of progress.
  std::uint32_t spins() const noexcept { return spins_; }
  std::uint32_t polls_a_turn() const noexcept { return polls_a_turn_; }

  // One step of a wait that has spun out already: yields or sleeps, at most until `deadline`, then drives `net`.
  // `still` is asked once more between arming and sleeping and says whether there is still something to wait for.
  // `turn` counts the steps of this wait, from 0.
  void step(transport& net, std::uint32_t turn, function_ref<bool> still, time_point deadline) noexcept;

  std::uint64_t sleeps() const noexcept { return sleeps_; }      // how often this rank really slept, for reports
  std::uint64_t strangers() const noexcept { return strangers_; } // yields that lasted far too long

 private:
  bool should_yield(std::uint32_t turn) noexcept;
  void yield_once() noexcept;

  wait_policy policy_ = wait_policy::automatic;
  std::uint32_t spins_ = crowded_spins, polls_a_turn_ = 32;
  std::uint32_t shy_ = 0;             // waits that will still sleep at once
  std::uint32_t shyness_ = first_shy; // how many the next overdraft costs
  std::chrono::nanoseconds price_{};  // of a wait by sleeping
  std::chrono::nanoseconds savings_{};
  bool yielded_out_ = false;          // this wait has used its time of yielding
  time_point yield_until_{};
  std::uint64_t sleeps_ = 0, strangers_ = 0;

  static constexpr std::uint32_t first_shy = 64, last_shy = 8192;
};

}  // namespace tutti
