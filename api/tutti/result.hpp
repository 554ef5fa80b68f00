// How the calls of tutti.hpp answer: with a value, or with why there is none.
#pragma once
#include <tutti.h>

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#ifdef __cpp_exceptions
#include <stdexcept>
#endif

namespace tutti {
inline namespace cpp {

// Why a call failed: its status, and what tutti_error_text() and the functions beside it said right after it. The text is empty if
// no memory was left for it.
struct failure {
  tutti_status_t code = TUTTI_OK;
  std::string text;
  std::uint32_t peer = TUTTI_NO_RANK;  // in the job
  std::int64_t native = 0;
};

#ifdef __cpp_exceptions
// What or_throw() throws; nothing else here throws anything of its own.
class failed_call : public std::runtime_error {
 public:
  explicit failed_call(failure f) : std::runtime_error(f.text), why_(std::move(f)) {}
  const failure& why() const noexcept { return why_; }

 private:
  failure why_;
};
#endif

template <class T = void>
class [[nodiscard]] result {
 public:
  result(T value) : is_(std::in_place_index<0>, std::move(value)) {}
  result(failure why) : is_(std::in_place_index<1>, std::move(why)) {}

  bool ok() const noexcept { return is_.index() == 0; }
  bool failed() const noexcept { return !ok(); }
  const failure& error() const& noexcept { return assert(failed()), *std::get_if<1>(&is_); }  // only if failed()
  failure&& error() && noexcept { return assert(failed()), std::move(*std::get_if<1>(&is_)); }
  // The value, only if ok().
  T& operator*() & noexcept { return assert(ok()), *std::get_if<0>(&is_); }
  const T& operator*() const& noexcept { return assert(ok()), *std::get_if<0>(&is_); }
  T&& operator*() && noexcept { return assert(ok()), std::move(*std::get_if<0>(&is_)); }
  T* operator->() noexcept { return assert(ok()), std::get_if<0>(&is_); }
  const T* operator->() const noexcept { return assert(ok()), std::get_if<0>(&is_); }
#ifdef __cpp_exceptions
  T or_throw() && {
    if (failed()) throw failed_call(std::move(*this).error());
    return std::move(**this);
  }
#endif

 private:
  std::variant<T, failure> is_;
};

template <>
class [[nodiscard]] result<void> {
 public:
  result() noexcept = default;
  result(failure why) : why_(std::move(why)) {}

  bool ok() const noexcept { return !why_; }
  bool failed() const noexcept { return !ok(); }
  const failure& error() const& noexcept { return assert(failed()), *why_; }  // only if failed()
  failure&& error() && noexcept { return assert(failed()), std::move(*why_); }
#ifdef __cpp_exceptions
  void or_throw() && {
    if (failed()) throw failed_call(std::move(*this).error());
  }
#endif

 private:
  std::optional<failure> why_;
};

namespace detail {

// Of a call upon ctx that returned `code`; ctx null: upon a handle that is gone, of which the thread keeps the text.
inline failure failure_of(tutti_status_t code, tutti_t ctx) noexcept {
  failure why{code, {}, tutti_error_peer(ctx), tutti_error_native(ctx)};
#ifdef __cpp_exceptions
  try {
    why.text = tutti_error_text(ctx);
  } catch (...) {
  }
#else
  why.text = tutti_error_text(ctx);
#endif
  return why;
}
inline result<> answer(tutti_status_t code, tutti_t ctx) noexcept {
  if (code == TUTTI_OK) [[likely]] return {};
  return failure_of(code, ctx);
}
// What this layer refuses by itself, before the library is called.
inline failure refused(const char* text) { return {TUTTI_INVALID, text, TUTTI_NO_RANK, 0}; }

}  // namespace detail
}  // namespace cpp
}  // namespace tutti
