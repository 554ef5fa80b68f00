// A function that can be left where it waits for another rank and resumed later. Setting up communication means waiting for
// answers: a blocking call waits on the spot (wait_for), a nonblocking one resumes the function whenever this rank makes progress
// (advance).
//
//   resumable<status> meet(team& t) {
//     auto ready = [&] { return ...; };
//     auto look = [&] { return t.parent_job().net().health(1); };
//     if (status s = co_await pending_wait{ready, look, {"meeting", 1}, deadline}; s.failed()) co_return s;
//
// The function begins at the first call of advance() or wait_for(). What is passed by reference must outlive it:
// no temporaries.
#pragma once
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "core/job/job.h"

namespace tutti {

// What a resumable waits for: the arguments of job::wait(), and how that ended.
class pending_wait {
 public:
  pending_wait(function_ref<bool> ready, function_ref<status> look, const wait_note& note, time_point deadline) noexcept
      : ready_(ready), look_(look), note_(note), deadline_(deadline) {}

  bool ready() { return ready_(); }
  status look() { return look_(); }
  const wait_note& note() const noexcept { return note_; }
  wait_note& note() noexcept { return note_; }
  time_point deadline() const noexcept { return deadline_; }
  void end(status how) { how_ = std::move(how); }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) noexcept { *h.promise().position = {this, h}; }
  status await_resume() noexcept { return std::move(how_); }

 private:
  function_ref<bool> ready_;
  function_ref<status> look_;
  wait_note note_;
  time_point deadline_;
  status how_;
};

// Where a chain of resumables, each awaited by the one before, has been left.
struct resume_position {
  pending_wait* wait = nullptr;
  std::coroutine_handle<> where;
};

template <class T>
class [[nodiscard]] resumable {
 public:
  struct promise_type {
    resume_position* position = nullptr;
    std::coroutine_handle<> caller;  // null: nobody awaits it
    std::optional<T> value;
    std::exception_ptr thrown;

    resumable get_return_object() { return resumable(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct back_to_caller {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        return h.promise().caller ? h.promise().caller : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    back_to_caller final_suspend() noexcept { return {}; }
    template <class V>
    void return_value(V&& v) { value.emplace(std::forward<V>(v)); }
    void unhandled_exception() noexcept { thrown = std::current_exception(); }
  };

  resumable() = default;
  resumable(resumable&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), position_(std::move(other.position_)) {}
  resumable& operator=(resumable&& other) noexcept {
    std::swap(handle_, other.handle_), std::swap(position_, other.position_);
    return *this;
  }
  ~resumable() {
    if (handle_) handle_.destroy();
  }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  bool done() const noexcept { return handle_.done(); }
  // Runs the function as far as it goes without waiting; true: done. Throws what the function throws.
  bool advance() {
    begin();
    while (!done() && position_->wait->ready()) resume();
    return done();
  }
  // Ends the present wait with this error, as its deadline or its look would.
  void fail(status s) {
    position_->wait->end(std::move(s));
    resume();
  }
  // Null before advance(), and when done.
  pending_wait* waits_for() const noexcept { return position_ && !done() ? position_->wait : nullptr; }
  T result() {
    if (handle_.promise().thrown) std::rethrow_exception(handle_.promise().thrown);
    return std::move(*handle_.promise().value);
  }

  // Awaited by another resumable: the function goes on as a part of that one.
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) noexcept {
    handle_.promise().position = h.promise().position, handle_.promise().caller = h;
    return handle_;
  }
  T await_resume() { return result(); }

 private:
  explicit resumable(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
  void begin() {
    if (position_) return;
    position_ = std::make_unique<resume_position>();
    handle_.promise().position = position_.get();
    handle_.resume();
  }
  void resume() { std::exchange(position_->where, nullptr).resume(); }

  std::coroutine_handle<promise_type> handle_;
  std::unique_ptr<resume_position> position_;  // a move leaves it where it is
};

// Blocks until the function is done.
template <class T>
T wait_for(job& j, resumable<T> r) {
  while (!r.advance()) {
    pending_wait& w = *r.waits_for();
    // Success needs no telling: advance() asks ready() again, and goes on.
    if (status s = j.wait([&] { return w.ready(); }, [&] { return w.look(); }, w.note(), w.deadline()); s.failed())
      r.fail(std::move(s));
  }
  return r.result();
}

}  // namespace tutti
