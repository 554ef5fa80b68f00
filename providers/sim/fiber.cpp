#include "providers/sim/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#ifdef __has_feature
#define TUTTI_FEATURE(name) __has_feature(name)
#else
#define TUTTI_FEATURE(name) 0
#endif
#if defined __SANITIZE_ADDRESS__ || TUTTI_FEATURE(address_sanitizer)
#define TUTTI_ASAN
#endif
#if defined __SANITIZE_THREAD__ || TUTTI_FEATURE(thread_sanitizer)
#define TUTTI_TSAN
#endif
#ifdef TUTTI_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef TUTTI_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace tutti::sim {
namespace {

#if defined TUTTI_ASAN || defined TUTTI_TSAN
constexpr std::size_t stack_bytes = 4 << 20;  // frames are larger
#else
constexpr std::size_t stack_bytes = 1 << 20;
#endif

std::size_t page() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

fiber::fiber() noexcept {
#ifdef TUTTI_TSAN
  known_as_ = __tsan_get_current_fiber();
#endif
}

fiber::fiber(std::function<void()> body) : body_(std::move(body)) {
  void* const at = mmap(nullptr, page() + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  stack_ = static_cast<std::byte*>(at);
  mprotect(stack_, page(), PROT_NONE);
  bottom_ = stack_ + page(), bytes_ = stack_bytes;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_ + page(), context_.uc_stack.ss_size = stack_bytes, context_.uc_link = nullptr;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&fiber::enter), 2, static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
#ifdef TUTTI_TSAN
  known_as_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber() {
  if (!stack_) return;
#ifdef TUTTI_TSAN
  __tsan_destroy_fiber(known_as_);
#endif
#ifdef TUTTI_ASAN
  if (parked_at_) __asan_unpoison_memory_region(parked_at_, held());  // frames that never returned
#endif
  munmap(stack_, page() + stack_bytes);
}

std::size_t fiber::held() const noexcept { return static_cast<std::size_t>(stack_ + page() + stack_bytes - parked_at_); }

void fiber::enter(unsigned high, unsigned low) noexcept {
  fiber& self = *reinterpret_cast<fiber*>(static_cast<std::uintptr_t>(high) << 32 | low);
  self.arrive();
  self.body_();
  __builtin_unreachable();  // it ends by end_in()
}

void fiber::leave(fiber& next, bool for_good) noexcept {
  next.from_ = this;
  auto& handled = *reinterpret_cast<exceptions*>(abi::__cxa_get_globals());
  handled_ = std::exchange(handled, next.handled_);
  parked_at_ = static_cast<std::byte*>(__builtin_frame_address(0)) - 256;  // with what is spilled below
#ifdef TUTTI_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, next.bottom_, next.bytes_);
#else
  (void)for_good;
#endif
#ifdef TUTTI_TSAN
  __tsan_switch_to_fiber(next.known_as_, 0);
#endif
}

void fiber::arrive() noexcept {
#ifdef TUTTI_ASAN
  // It tells where the stack is that was left: the first one's is not known otherwise.
  __sanitizer_finish_switch_fiber(fake_stack_, &from_->bottom_, &from_->bytes_);
#endif
}

void fiber::pass_to(fiber& next) noexcept {
  if (&next == this) return;
  leave(next, false);
  swapcontext(&context_, &next.context_);
  arrive();
}

void fiber::end_in(fiber& next) noexcept {
  leave(next, true);
  setcontext(&next.context_);
  __builtin_unreachable();
}

void fiber::abandon(std::unique_ptr<fiber> f) noexcept {
#ifdef TUTTI_ASAN
  // What it holds is in use for ever.
  if (f->parked_at_) __lsan_register_root_region(f->parked_at_, f->held());
#endif
  static auto& all = *new std::vector<std::unique_ptr<fiber>>;
  all.push_back(std::move(f));
}

}  // namespace tutti::sim
