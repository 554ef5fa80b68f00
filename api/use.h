// One call of the C API upon one handle: finds what the handle names, and in check mode (TUTTI_CHECK=1) that no other call
// upon its context is under way. What is wrong with it is told by name.
#pragma once
#include "api/context.h"

namespace tutti::api {

inline tutti_context* context_of(tutti_context& c) noexcept { return &c; }
inline tutti_context* context_of(tutti_team& t) noexcept { return t.ctx; }
inline tutti_context* context_of(tutti_window& w) noexcept { return w.ctx; }

inline constexpr const char* name_of(const tutti_context*) noexcept { return "context"; }
inline constexpr const char* name_of(const tutti_team*) noexcept { return "team"; }
inline constexpr const char* name_of(const tutti_window*) noexcept { return "window"; }

// A handle that names nothing: NULL, stale, or another process's.
[[gnu::cold]] tutti_status_t refuse_handle(const void* handle, const char* call, const char* what, const char* kind) noexcept;
[[gnu::cold]] tutti_status_t refuse_overlap(const char* call, const char* other) noexcept;
[[gnu::cold]] tutti_status_t refuse_in_handler(tutti_context*, const char* call) noexcept;

// As the last argument of a use: handlers of active messages may make the call as well. It waits for nothing but room in a queue of
// the fabric, and no handler runs meanwhile.
inline constexpr bool by_handlers_too = true;

inline constexpr char a_handler[] = "a handler";
inline const void* this_thread() noexcept {
  thread_local char mark;
  return &mark;
}

// Held by a call while it is in a context that checks. Whoever comes second is told of the first, and leaves it alone. A call that a
// handler makes comes within another one, and is let pass or told so.
class turn {
 public:
  turn(tutti_context* ctx, const char* call, bool handlers_may) noexcept {
    if (ctx && (ctx->checked || (!handlers_may && ctx->in_handler.load(std::memory_order_relaxed)))) [[unlikely]] enter(ctx, call, handlers_may);
  }
  ~turn() {
    if (held_) [[unlikely]] end();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  const char* overlaps() const noexcept { return other_; }  // the call that is under way, a_handler, or null
  void end() noexcept { std::exchange(held_, nullptr)->under_way.store(nullptr, std::memory_order_release); }
  void end_early() noexcept { if (held_) end(); }           // before the context goes

 private:
  [[gnu::cold]] void enter(tutti_context* ctx, const char* call, bool handlers_may) noexcept {
    if (ctx->in_handler.load(std::memory_order_relaxed) && (!ctx->checked || ctx->entered_by.load(std::memory_order_relaxed) == this_thread())) {
      if (!handlers_may) other_ = a_handler;
    } else if (ctx->under_way.compare_exchange_strong(other_, call, std::memory_order_acquire)) {
      held_ = ctx;
      ctx->entered_by.store(this_thread(), std::memory_order_relaxed);
    }
  }
  tutti_context* held_ = nullptr;
  const char* other_ = nullptr;
};

template <class T>
class use {
 public:
  use(T* handle, const char* call, bool handlers_may = false) noexcept
      : handle_(handle), call_(call), found_(find(handle)), turn_(found_ ? context_of(*found_) : nullptr, call, handlers_may) {}
  explicit operator bool() const noexcept { return found_ && !turn_.overlaps(); }
  T* operator->() const noexcept { return found_; }
  T& operator*() const noexcept { return *found_; }
  T* get() const noexcept { return found_; }
  const char* call() const noexcept { return call_; }
  void end_early() noexcept { turn_.end_early(); }
  // `what` as the text of a NULL should name it.
  [[gnu::cold]] tutti_status_t refuse(const char* what) const noexcept {
    if (turn_.overlaps() == a_handler) return refuse_in_handler(context_of(*found_), call_);
    if (turn_.overlaps()) return refuse_overlap(call_, turn_.overlaps());
    return refuse_handle(handle_, call_, what, name_of(handle_));
  }

 private:
  T* handle_;
  const char* call_;
  T* found_;
  turn turn_;
};

}  // namespace tutti::api
