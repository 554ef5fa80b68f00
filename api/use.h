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

// Held by a call while it is in a context that checks. Whoever comes second is told of the first, and leaves it alone.
class turn {
 public:
  turn(tutti_context* ctx, const char* call) noexcept {
    if (ctx && ctx->checked) [[unlikely]] enter(ctx, call);
  }
  ~turn() {
    if (held_) [[unlikely]] end();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  const char* overlaps() const noexcept { return other_; }  // the call that is under way, or null
  void end() noexcept { std::exchange(held_, nullptr)->under_way.store(nullptr, std::memory_order_release); }
  void end_early() noexcept { if (held_) end(); }           // before the context goes

 private:
  [[gnu::cold]] void enter(tutti_context* ctx, const char* call) noexcept {
    if (ctx->under_way.compare_exchange_strong(other_, call, std::memory_order_acquire)) held_ = ctx;
  }
  tutti_context* held_ = nullptr;
  const char* other_ = nullptr;
};

template <class T>
class use {
 public:
  use(T* handle, const char* call) noexcept
      : handle_(handle), call_(call), found_(find(handle)), turn_(found_ ? context_of(*found_) : nullptr, call) {}
  explicit operator bool() const noexcept { return found_ && !turn_.overlaps(); }
  T* operator->() const noexcept { return found_; }
  T& operator*() const noexcept { return *found_; }
  T* get() const noexcept { return found_; }
  const char* call() const noexcept { return call_; }
  void end_early() noexcept { turn_.end_early(); }
  // `what` as the text of a NULL should name it.
  [[gnu::cold]] tutti_status_t refuse(const char* what) const noexcept {
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
