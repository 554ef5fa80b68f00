// Coroutines that wait for requests: co_await on(scheduler, request) suspends the coroutine until the request is complete, and gives
// its result<>. The scheduler is the program's own, anything with add() and remove() as below, or the small `loop` of this header.
#pragma once
#include <tutti.h>

#include <algorithm>
#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/context.hpp>
#include <tutti/request.hpp>

namespace tutti {
inline namespace cpp {

// A suspended coroutine and the request that it waits for. A scheduler keeps the address until the request is complete, or until
// remove() where the coroutine is destroyed first; then it forgets the address and calls resume().
class pending {
 public:
  pending(const pending&) = delete;
  pending& operator=(const pending&) = delete;

  // Tests the request, which makes progress; true: it is complete, resume() comes next.
  bool poll() {
    int done = 0;
    const auto code = tutti_test(request_, &done);
    if (code == TUTTI_OK && !done) return false;
    finished(code);
    return true;
  }
  // For a scheduler that has found a copy of the request complete by itself, with tutti_wait_any() or its like: `left` is what that
  // call made of the copy, and `code` what it returned.
  tutti_request_t copy() const noexcept { return *request_; }
  void finished(tutti_status_t code, tutti_request_t left) {
    *request_ = left;
    finished(code);
  }
  void resume() { waiter_.resume(); }

 protected:
  explicit pending(tutti_t ctx) noexcept : ctx_(ctx) {}
  ~pending() = default;
  void finished(tutti_status_t code) {
    if (code != TUTTI_OK) outcome_ = detail::failure_of(code, ctx_);
  }

  tutti_request_t* request_ = nullptr;
  tutti_t ctx_;
  std::coroutine_handle<> waiter_;
  result<> outcome_;
};

template <class S>
concept scheduler = requires(S& s, pending& p) {
  s.add(p);
  s.remove(p);
};

namespace detail {

template <class S, class Kept>
class awaited : public pending {
 public:
  awaited(S& s, Kept&& kept, tutti_t ctx) noexcept : pending(ctx), s_(s), held_(std::forward<Kept>(kept)) { request_ = &held_.handle(); }
  ~awaited() {
    if (suspended_) s_.remove(*this);
  }
  bool await_ready() { return held_.handle().slot == nullptr || poll(); }
  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter, suspended_ = true;
    s_.add(*this);
  }
  result<> await_resume() {
    suspended_ = false;
    return std::move(outcome_);
  }

 private:
  S& s_;
  Kept held_;  // a request, or a reference to one
  bool suspended_ = false;
};

// Of a call that may have failed to begin.
template <class S>
class begun : public awaited<S, request> {
 public:
  begun(S& s, result<request>&& r) : awaited<S, request>(s, r.ok() ? std::move(*r) : request(), r.ok() ? r->context_handle() : nullptr) {
    if (r.failed()) this->outcome_ = r.error();
  }
};

}  // namespace detail

// The request ends with the wait; a persistent one can be started again.
template <scheduler S>
auto on(S& s, request&& r) {
  const tutti_t ctx = r.context_handle();
  return detail::awaited<S, request>(s, std::move(r), ctx);
}
template <scheduler S>
auto on(S& s, result<request>&& r) { return detail::begun<S>(s, std::move(r)); }
template <scheduler S>
auto on(S& s, persistent_request& r) { return detail::awaited<S, persistent_request&>(s, r, r.context_handle()); }

// --- a coroutine's type

template <class T = void>
class task;

namespace detail {

template <class T>
struct outcome_of {
  std::optional<T> value;
  void return_value(T v) { value.emplace(std::move(v)); }
  T take() { return std::move(*value); }
};
template <>
struct outcome_of<void> {
  void return_void() noexcept {}
  void take() noexcept {}
};

template <class T>
struct task_promise : outcome_of<T> {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr thrown;

  task<T> get_return_object() noexcept;
  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() const noexcept {
    struct to_continuation {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<task_promise> h) const noexcept { return h.promise().continuation; }
      void await_resume() const noexcept {}
    };
    return to_continuation{};
  }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
};

}  // namespace detail

// Begins when it is awaited, spawned or run; gives what it returns. Destroying it destroys what it waits in, too.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;

  explicit task(std::coroutine_handle<promise_type> h) noexcept : h_(h) {}
  task(task&& other) noexcept : h_(std::exchange(other.h_, nullptr)) {}
  task& operator=(task&& other) noexcept { return std::swap(h_, other.h_), *this; }
  ~task() {
    if (h_) h_.destroy();
  }

  bool await_ready() const noexcept { return h_.done(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    h_.promise().continuation = waiter;
    return h_;
  }
  T await_resume() { return outcome(); }

  // For a scheduler, which starts a task that nobody awaits.
  void start() { h_.resume(); }
  bool done() const noexcept { return h_.done(); }
  T outcome() {  // of a task that is done
    if (h_.promise().thrown) std::rethrow_exception(h_.promise().thrown);
    return h_.promise().take();
  }

 private:
  std::coroutine_handle<promise_type> h_;
};

template <class T>
task<T> detail::task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

// --- a scheduler

// Runs coroutines that wait for requests of one context, on the thread that calls it.
class loop {
 public:
  explicit loop(const context& ctx) noexcept : ctx_(ctx.handle()) {}
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  // Begins a task and keeps it until it is finished, which run() waits for.
  void spawn(task<> t) {
    t.start();
    if (!t.done()) spawned_.push_back(std::move(t));
    else t.outcome();
  }
  // Blocks until the task is finished.
  template <class T>
  T run(task<T> t) {
    t.start();
    while (!t.done()) step();
    return t.outcome();
  }
  void run() {  // all that were spawned
    while (reap(), !spawned_.empty()) step();
  }

  // One look at each awaited request, with progress; resumes whose request is complete.
  void poll() {
    if (waiting_.empty()) (void)tutti_progress(ctx_);
    for (std::size_t i = 0; i < waiting_.size();)
      if (waiting_[i]->poll()) move_to_ready(i);
      else requests_[i] = waiting_[i]->copy(), ++i;
    resume_ready();
  }
  // Blocks until at least one coroutine could go on.
  void step() {
    if (!ready_.empty()) return resume_ready();
    if (events_ > 0 || waiting_.empty()) {  // a handler may set what is waited for, at any look
      poll();
      if (++fruitless_ > 1000) std::this_thread::yield();
      return;
    }
    std::size_t index = waiting_.size();
    const auto code = tutti_wait_any(requests_.data(), requests_.size(), &index, -1);
    if (index >= waiting_.size()) return poll();  // a context that ended, or another one's requests: each tells by itself
    waiting_[index]->finished(code, requests_[index]);
    move_to_ready(index);
    resume_ready();
  }

  // Called by what is awaited.
  void add(pending& p) { waiting_.push_back(&p), requests_.push_back(p.copy()); }
  void remove(pending& p) noexcept {
    if (const auto at = std::find(waiting_.begin(), waiting_.end(), &p); at != waiting_.end()) forget(static_cast<std::size_t>(at - waiting_.begin()));
    std::erase_if(ready_, [&](const ready& r) { return r.of == &p; });
  }

 private:
  friend class event;
  struct ready {
    const void* of;
    pending* request;                // or
    std::coroutine_handle<> waiter;  // of an event
  };

  void forget(std::size_t i) noexcept {
    waiting_[i] = waiting_.back(), waiting_.pop_back();
    requests_[i] = requests_.back(), requests_.pop_back();
  }
  void move_to_ready(std::size_t i) {
    ready_.push_back({waiting_[i], waiting_[i], {}});
    forget(i);
  }
  // Each may add, remove and finish others.
  void resume_ready() {
    while (!ready_.empty()) {
      const ready r = ready_.front();
      ready_.erase(ready_.begin());
      fruitless_ = 0;
      if (r.request) r.request->resume();
      else r.waiter.resume();
    }
  }
  void reap() {
    for (std::size_t i = 0; i < spawned_.size();) {
      if (!spawned_[i].done()) {
        ++i;
        continue;
      }
      task<> t = std::move(spawned_[i]);
      spawned_.erase(spawned_.begin() + static_cast<std::ptrdiff_t>(i));
      t.outcome();
    }
  }

  tutti_t ctx_;
  std::vector<pending*> waiting_;
  std::vector<tutti_request_t> requests_;  // copies of theirs, in the same order
  std::vector<ready> ready_;
  std::vector<task<>> spawned_;
  std::size_t events_ = 0;                 // that coroutines wait for
  unsigned fruitless_ = 0;
};

// Something that happens in this rank, in a handler of active messages say: co_await e.on(loop). One coroutine at a time waits.
class event {
 public:
  void set() {
    set_ = true;
    if (!waiter_) return;
    loop_->ready_.push_back({this, nullptr, std::exchange(waiter_, nullptr)});
    --loop_->events_;
  }
  void reset() noexcept { set_ = false; }
  bool is_set() const noexcept { return set_; }

  auto on(loop& l) noexcept {
    struct wait {
      event& e;
      loop& l;
      bool await_ready() const noexcept { return e.set_; }
      void await_suspend(std::coroutine_handle<> h) const noexcept { e.waiter_ = h, e.loop_ = &l, ++l.events_; }
      void await_resume() const noexcept {}
      // Where the coroutine is destroyed while it waits.
      ~wait() { e.forget(); }
    };
    return wait{*this, l};
  }
  event() = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

 private:
  void forget() noexcept {
    if (!loop_) return;
    if (waiter_) waiter_ = nullptr, --loop_->events_;
    std::erase_if(loop_->ready_, [this](const loop::ready& r) { return r.of == this; });
    loop_ = nullptr;
  }

  bool set_ = false;
  std::coroutine_handle<> waiter_;
  loop* loop_ = nullptr;
};

}  // namespace cpp
}  // namespace tutti
