// Active messages: functions that run at the target of a message.
#pragma once
#include <tutti.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include <tutti/data.hpp>
#include <tutti/request.hpp>

namespace tutti {
inline namespace cpp {

using arguments = std::span<const std::uint64_t>;  // at most TUTTI_AM_ARGUMENTS

// What a handler is called with; valid until it returns.
class active_message {
 public:
  active_message(tutti_am_t m, arguments a, std::span<std::byte> payload) noexcept : is_(m), arguments_(a), payload_(payload) {}

  std::uint32_t source() const noexcept { return tutti_am_source(is_); }  // rank in the job
  tutti::cpp::arguments arguments() const noexcept { return arguments_; }
  // Medium: a copy, aligned to 8 bytes. Long: where it was put in this rank's window, whatever the alignment of that offset.
  std::span<std::byte> payload() const noexcept { return payload_; }
  template <class T>
  std::span<T> payload_as() const noexcept { return {reinterpret_cast<T*>(payload_.data()), payload_.size() / sizeof(T)}; }

  // Once, and to a request only: runs handler `number` at its sender.
  template <readable Data = std::span<const std::byte>>
  result<> reply(std::uint32_t number, tutti::cpp::arguments a, const Data& payload = {}) const {
    return detail::answer(tutti_am_reply(is_, number, a.data(), a.size(), detail::address_of(payload), detail::bytes_of(payload)),
                          tutti_am_context(is_));
  }

 private:
  tutti_am_t is_;
  tutti::cpp::arguments arguments_;
  std::span<std::byte> payload_;
};

// Keeps f(active_message) registered under a number. What f may do, tutti.h says; above all it does not block.
template <class F>
class handler {
 public:
  static result<handler> make(tutti_t ctx, std::uint32_t number, F f) {
    handler h(ctx, number, std::make_unique<F>(std::move(f)));
    if (const auto code = tutti_am_register(ctx, number, run, h.f_.get()); code != TUTTI_OK) return h.f_.reset(), detail::failure_of(code, ctx);
    return h;
  }
  handler(handler&& other) noexcept : ctx_(other.ctx_), number_(other.number_), f_(std::move(other.f_)) {}
  handler& operator=(handler&& other) noexcept {
    std::swap(ctx_, other.ctx_), std::swap(number_, other.number_), std::swap(f_, other.f_);
    return *this;
  }
  ~handler() {
    if (f_) (void)tutti_am_register(ctx_, number_, nullptr, nullptr);
  }
  std::uint32_t number() const noexcept { return number_; }

 private:
  handler(tutti_t ctx, std::uint32_t number, std::unique_ptr<F> f) : ctx_(ctx), number_(number), f_(std::move(f)) {}
  static void run(tutti_am_t m, const std::uint64_t* a, std::size_t count, void* payload, std::size_t bytes, void* self) {
    (*static_cast<F*>(self))(active_message(m, {a, count}, {static_cast<std::byte*>(payload), bytes}));
  }

  tutti_t ctx_;
  std::uint32_t number_;
  std::unique_ptr<F> f_;
};

}  // namespace cpp
}  // namespace tutti
