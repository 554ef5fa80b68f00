// How a rank waits: it spins while the wait is likely to be short and cores suffice, then yields for a bounded time, then
// sleeps. Ranks often outnumber cores; core/base/yield_account.h says when yielding costs less than sleeping then.
#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/base/cpu_share.h"
#include "core/base/yield_account.h"
#include "core/transport/transport.h"

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

  // Whose cores these are besides: a long yield among them is none to another program, as far as they had the cores meanwhile.
  void share_cores_with(cpu_share all) noexcept { share_ = std::move(all); }

  // Whoever polls keeps the core from a rank that it waits for: 4 and 8 ranks on 2 cores reduced 8 bytes in 4.8 and 13 us with one poll, in
  // 8.4 and 18 us with 32.
  static constexpr std::uint32_t oversubscribed_spins = 1;
  // Polls before the first yield, for the caller's own fast loop, and how many of them for each turn of progress.
  std::uint32_t spins() const noexcept { return spins_; }
  std::uint32_t polls_a_turn() const noexcept { return polls_a_turn_; }

  // One step of a wait whose spins are used up: yields or sleeps, at most until `deadline`, then drives `net`.
  // `still` says whether there is still something to wait for; it is asked once more between arming and sleeping.
  // `turn` counts the steps of this wait, from 0.
  void step(transport& net, std::uint32_t turn, function_ref<bool> still, time_point deadline) noexcept;

  // Something came, whether step() or the caller found it. A rank that serves its peers while it waits would else fall asleep among their
  // operations, and each would wake it. Whoever sleeps because nothing had come stays at that, for the fabric wakes it in time; from a
  // nap, which nothing ends, it comes back. Where ranks share cores a sleeper leaves its core to those it waits for: they put 1 MiB a
  // fifth faster over tcp.
  void came() noexcept {
    if (overdrawn_ || (wakes_ && (yielded_out_ || shares_core_))) return;
    yield_until_ = {};
    yielded_out_ = false;
  }

  // From the next step on this wait yields, for its time of yielding, or sleeps. Yields that would cost too much stay away.
  void yield_again(bool yes) noexcept {
    yield_until_ = {};
    yielded_out_ = overdrawn_ || !yes;
  }

  std::uint64_t sleeps() const noexcept { return sleeps_; }      // how often this rank really slept, for reports
  std::uint64_t long_yields() const noexcept { return long_yields_; }  // that gave the core to another program

 private:
  bool should_yield(std::uint32_t turn) noexcept;
  void yield_once() noexcept;

  wait_policy policy_ = wait_policy::automatic;
  std::uint32_t spins_ = oversubscribed_spins, polls_a_turn_ = 32;
  yield_account account_;
  cpu_share share_;
  std::chrono::nanoseconds yield_time_{};
  bool wakes_ = true;                 // the fabric ends sleeps
  bool shares_core_ = false;          // with other ranks
  bool overdrawn_ = false;            // this wait may yield no more, for another program shares the core
  bool yielded_out_ = false;          // or it has used its time of yielding
  time_point yield_until_{};
  std::uint64_t sleeps_ = 0, long_yields_ = 0;
};

}  // namespace tutti
