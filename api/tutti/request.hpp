// Operations under way, and the three ways to begin one: block until it is complete; get a request for it; get a request that
// starts it again and again.
#pragma once
#include <tutti.h>

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/result.hpp>

namespace tutti {
inline namespace cpp {

using seconds = std::chrono::duration<double>;
inline constexpr seconds forever{-1.0};

namespace detail {
// Cancels a receive that no message has matched; *r is zeroed then, unless it is persistent.
inline void cancel_receive(tutti_request_t* r) noexcept {
  int cancelled = 0;
  (void)tutti_cancel(r, &cancelled);
}
}  // namespace detail

// An operation under way. Its buffers stay untouched until it was found complete, so the destructor cancels a receive that no message
// has matched, and waits for any other operation. To avoid that wait, release() the request, or end the context first
// (context::abandon()): then nothing is waited for.
class [[nodiscard]] request {
 public:
  request() noexcept = default;
  request(tutti_request_t r, tutti_t ctx, bool receives = false) noexcept : r_(r), ctx_(ctx), receives_(receives) {}
  request(request&& other) noexcept : r_(std::exchange(other.r_, {})), ctx_(other.ctx_), receives_(other.receives_) {}
  request& operator=(request&& other) noexcept {
    std::swap(r_, other.r_), std::swap(ctx_, other.ctx_), std::swap(receives_, other.receives_);
    return *this;
  }
  ~request() {
    if (pending() && receives_) detail::cancel_receive(&r_);
    if (pending()) (void)tutti_wait(&r_, -1);
  }

  bool pending() const noexcept { return r_.slot != nullptr; }  // not found complete yet
  // Whether the operation is complete; makes progress if not. An error is the operation's, which then is complete as well.
  result<bool> test() {
    int done = 0;
    if (const auto code = tutti_test(&r_, &done); code != TUTTI_OK) return detail::failure_of(code, ctx_);
    return done != 0;
  }
  // TUTTI_TIMED_OUT leaves the operation under way.
  result<> wait(seconds timeout = forever) { return detail::answer(tutti_wait(&r_, timeout.count()), ctx_); }
  // Takes a receive back; false: a message has matched it, and it goes on.
  result<bool> cancel() {
    int cancelled = 0;
    if (const auto code = tutti_cancel(&r_, &cancelled); code != TUTTI_OK) return detail::failure_of(code, ctx_);
    return cancelled != 0;
  }

  tutti_request_t& handle() noexcept { return r_; }
  tutti_t context_handle() const noexcept { return ctx_; }
  bool receives() const noexcept { return receives_; }
  // Gives the operation up to the caller, who waits for it.
  tutti_request_t release() noexcept { return std::exchange(r_, {}); }

 private:
  tutti_request_t r_{};
  tutti_t ctx_ = nullptr;
  bool receives_ = false;
};

// An operation that is started again and again with the same arguments (tutti_start()). The destructor ends one under way as that of
// request does.
class [[nodiscard]] persistent_request {
 public:
  persistent_request(tutti_request_t r, tutti_t ctx, bool receives = false) noexcept : r_(r), ctx_(ctx), receives_(receives) {}
  persistent_request(persistent_request&& other) noexcept
      : r_(std::exchange(other.r_, {})), ctx_(other.ctx_), receives_(other.receives_) {}
  persistent_request& operator=(persistent_request&& other) noexcept {
    std::swap(r_, other.r_), std::swap(ctx_, other.ctx_), std::swap(receives_, other.receives_);
    return *this;
  }
  ~persistent_request() {
    if (!r_.slot) return;
    if (receives_) detail::cancel_receive(&r_);
    (void)tutti_wait(&r_, -1);
    (void)tutti_request_free(&r_);
  }

  result<> start() { return detail::answer(tutti_start(&r_), ctx_); }
  result<bool> test() {
    int done = 0;
    if (const auto code = tutti_test(&r_, &done); code != TUTTI_OK) return detail::failure_of(code, ctx_);
    return done != 0;
  }
  result<> wait(seconds timeout = forever) { return detail::answer(tutti_wait(&r_, timeout.count()), ctx_); }

  tutti_request_t& handle() noexcept { return r_; }
  tutti_t context_handle() const noexcept { return ctx_; }

 private:
  tutti_request_t r_;
  tutti_t ctx_;
  bool receives_;
};

// Requests of one context, to be waited for together. Indices are in the order of add(). The destructor ends each as that of request does.
class requests {
 public:
  requests() = default;
  requests(requests&& other) noexcept
      : all_(std::exchange(other.all_, {})), receives_(std::exchange(other.receives_, {})), ctx_(other.ctx_) {}
  requests& operator=(requests&& other) noexcept {
    std::swap(all_, other.all_), std::swap(receives_, other.receives_), std::swap(ctx_, other.ctx_);
    return *this;
  }
  ~requests() {
    for (const std::size_t i : receives_)
      if (all_[i].slot) detail::cancel_receive(&all_[i]);
    if (!all_.empty()) (void)tutti_wait_all(all_.data(), all_.size(), -1);
  }

  void reserve(std::size_t count) { all_.reserve(count), receives_.reserve(count); }
  void add(request&& r) {
    ctx_ = r.context_handle();
    if (r.receives()) receives_.push_back(all_.size());
    all_.push_back(r.handle());
    (void)r.release();
  }
  // What nonblocking calls return; their failures are given on.
  result<> add(result<request>&& r) {
    if (r.failed()) return std::move(r).error();
    add(std::move(*r));
    return {};
  }
  std::size_t size() const noexcept { return all_.size(); }

  // Forgets them once all are complete.
  result<> wait_all(seconds timeout = forever) {
    const auto code = tutti_wait_all(all_.data(), all_.size(), timeout.count());
    if (code != TUTTI_TIMED_OUT && code != TUTTI_INVALID) all_.clear(), receives_.clear();
    return detail::answer(code, ctx_);
  }
  // The index of one that is complete; nothing if none is under way. What has failed is named by its index as well, in `failed`.
  result<std::optional<std::size_t>> wait_any(seconds timeout = forever, std::size_t* failed = nullptr) {
    std::size_t index = all_.size();
    if (const auto code = tutti_wait_any(all_.data(), all_.size(), &index, timeout.count()); code != TUTTI_OK) {
      if (failed) *failed = index;
      return detail::failure_of(code, ctx_);
    }
    return index < all_.size() ? std::optional(index) : std::nullopt;
  }

 private:
  std::vector<tutti_request_t> all_;
  std::vector<std::size_t> receives_;  // those of all_ that may be cancelled
  tutti_t ctx_ = nullptr;
};

// --- how to begin: the last argument of collectives, messages and one-sided operations

namespace detail {

// A function of tutti.h in its three forms.
template <class Blocking, class Starting, class Making>
struct forms {
  Blocking blocking;
  Starting starting;
  Making making;
};
template <class Blocking, class Starting, class Making>
forms(Blocking, Starting, Making) -> forms<Blocking, Starting, Making>;
struct none {};  // a form that there is not

struct blocking_t {
  using answer = result<>;
  static constexpr bool returns_early = false;
  template <class Team, class Forms, class... A>
  static answer call(const Team& t, bool, const Forms& f, A... arguments) {
    if (const auto code = f.blocking(t.handle(), arguments...); code != TUTTI_OK) return failure_of(code, t.context_handle());
    return {};
  }
};
template <class Request>
struct starting_t {
  using answer = result<Request>;
  static constexpr bool returns_early = true;
  template <class Team, class Forms, class... A>
  static answer call(const Team& t, bool receives, const Forms& f, A... arguments) {
    tutti_request_t r{};
    tutti_status_t code;
    if constexpr (std::is_same_v<Request, request>) code = f.starting(t.handle(), arguments..., &r);
    else code = f.making(t.handle(), arguments..., &r);
    if (code != TUTTI_OK) return failure_of(code, t.context_handle());
    return Request(r, t.owner(), receives);
  }
};

}  // namespace detail

inline constexpr detail::blocking_t blocking{};  // the default
inline constexpr detail::starting_t<request> nonblocking{};
inline constexpr detail::starting_t<persistent_request> persistent{};

template <class H>
concept way_to_begin = requires { typename H::answer; H::returns_early; };

}  // namespace cpp
}  // namespace tutti
