// Flows of control with stacks of their own, on one thread: a rank of a simulated run each. One goes on at a time, until it passes control to
// another one; that costs a tenth of what passing it to another thread does.
//
// By swapcontext(3), which keeps registers and the mask of signals. The exceptions that a flow is handling are kept as well, and the
// sanitizers are told. What is thread_local is common to all.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace tutti::sim {

class fiber {
 public:
  fiber() noexcept;                              // the caller's, as it is
  explicit fiber(std::function<void()> body);    // begins `body` when control comes to it first. Throws std::bad_alloc
  ~fiber();                                      // it has ended, or was never begun
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // From this one, which runs; returns when control comes back.
  void pass_to(fiber& next) noexcept;
  // The same at the end of `body`, which must not return otherwise.
  [[noreturn]] void end_in(fiber& next) noexcept;
  // Never goes on again, with whatever its stack holds: both stay for ever, as those of a process that was killed would.
  static void abandon(std::unique_ptr<fiber>) noexcept;

 private:
  static void enter(unsigned high, unsigned low) noexcept;
  void arrive() noexcept;
  void leave(fiber& next, bool for_good) noexcept;
  std::size_t held() const noexcept;             // bytes from parked_at_ on

  ucontext_t context_{};
  std::function<void()> body_;
  std::byte* stack_ = nullptr;                   // a page that traps, then the stack; null: not ours
  struct exceptions {                            // as __cxa_get_globals() has them: the ABI's 2.2.2
    void* caught = nullptr;
    unsigned uncaught = 0;
  } handled_;
  // For the sanitizers.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* fake_stack_ = nullptr;
  void* known_as_ = nullptr;
  fiber* from_ = nullptr;
  const std::byte* parked_at_ = nullptr;         // what its stack holds begins here
};

}  // namespace tutti::sim
