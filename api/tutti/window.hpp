// Memory of each member of a team that the other members read and write, as an array of T. Places are indices of elements.
#pragma once
#include <tutti.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <tutti/data.hpp>
#include <tutti/layout.hpp>
#include <tutti/request.hpp>
#include <tutti/team.hpp>

namespace tutti {
inline namespace cpp {

// How a signal changes its word.
enum class signal_kind { set = TUTTI_SET, add = TUTTI_ADD, set_after_all = TUTTI_SET | TUTTI_AFTER_ALL, add_after_all = TUTTI_ADD | TUTTI_AFTER_ALL };
enum class until { reached = TUTTI_REACHED, equal = TUTTI_EQUAL, not_equal = TUTTI_NOT_EQUAL };

// Freed by free(), which is collective, or else by its context at its end: no destructor waits for other ranks. Signals and atomics
// take words of 8 bytes; T is one, or it is std::byte, and then a place is an offset in bytes. One-sided operations begin `blocking`
// in the sense that a flush completes them, or `nonblocking`, with a request.
template <class T = std::byte>
class window {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Collective over the team. `count`: elements of this rank's part, which are zero.
  static result<window> create(team_view t, std::size_t count) {
    tutti_window_t w = nullptr;
    if (const auto code = tutti_window_create(t.handle(), count * sizeof(T), nullptr, &w); code != TUTTI_OK)
      return detail::failure_of(code, t.context_handle());
    return window(w, t.owner());
  }
  // Over memory of the caller's, which stays until the window is freed.
  static result<window> over(team_view t, std::span<T> memory) {
    tutti_window_t w = nullptr;
    if (const auto code = tutti_window_over(t.handle(), memory.data(), memory.size_bytes(), &w); code != TUTTI_OK)
      return detail::failure_of(code, t.context_handle());
    return window(w, t.owner());
  }
  window(window&& other) noexcept : w_(std::exchange(other.w_, nullptr)), ctx_(other.ctx_) {}
  window& operator=(window&& other) noexcept {
    std::swap(w_, other.w_), std::swap(ctx_, other.ctx_);
    return *this;
  }
  result<> free() { return answer(tutti_window_free(&w_)); }

  std::span<T> local() const noexcept {
    return {static_cast<T*>(tutti_window_base(w_)), tutti_window_size(w_, tutti_team_rank(tutti_window_team(w_))) / sizeof(T)};
  }
  std::size_t size(std::uint32_t rank) const noexcept { return tutti_window_size(w_, rank) / sizeof(T); }  // elements of that part
  team_view members() const noexcept { return {tutti_window_team(w_), ctx_}; }
  tutti_window_t handle() const noexcept { return w_; }

  template <readable Data>
    requires std::same_as<element<Data>, T> && std::ranges::borrowed_range<Data>
  result<> put(std::uint32_t rank, std::size_t place, Data&& source) const {
    return answer(tutti_put(w_, rank, place * sizeof(T), detail::address_of(source), detail::bytes_of(source), nullptr));
  }
  template <readable Data>
    requires std::same_as<element<Data>, T> && std::ranges::borrowed_range<Data>
  result<request> put(std::uint32_t rank, std::size_t place, Data&& source, decltype(nonblocking)) const {
    tutti_request_t r{};
    return answer(tutti_put(w_, rank, place * sizeof(T), detail::address_of(source), detail::bytes_of(source), &r), r);
  }
  template <writable Data>
    requires std::same_as<element<Data>, T> && std::ranges::borrowed_range<Data>
  result<> get(std::uint32_t rank, std::size_t place, Data&& target) const {
    return answer(tutti_get(w_, rank, place * sizeof(T), detail::address_of(target), detail::bytes_of(target), nullptr));
  }
  template <writable Data>
    requires std::same_as<element<Data>, T> && std::ranges::borrowed_range<Data>
  result<request> get(std::uint32_t rank, std::size_t place, Data&& target, decltype(nonblocking)) const {
    tutti_request_t r{};
    return answer(tutti_get(w_, rank, place * sizeof(T), detail::address_of(target), detail::bytes_of(target), &r), r);
  }
  // Layouts list bytes at either end.
  result<request> put(std::uint32_t rank, std::size_t place, const layout& remote, const void* base, const layout& local) const {
    tutti_request_t r{};
    return answer(tutti_put_layout(w_, rank, place * sizeof(T), remote.get(), base, local.get(), &r), r);
  }
  result<request> get(std::uint32_t rank, std::size_t place, const layout& remote, void* base, const layout& local) const {
    tutti_request_t r{};
    return answer(tutti_get_layout(w_, rank, place * sizeof(T), remote.get(), base, local.get(), &r), r);
  }

  result<> signal(std::uint32_t rank, std::size_t word, std::uint64_t value, signal_kind k = signal_kind::set) const {
    return answer(tutti_signal(w_, rank, offset_of(word), value, static_cast<int>(k)));
  }
  // The data, and then the signal to a word of `signals`, a window of the same team.
  template <readable Data, class W>
    requires std::same_as<element<Data>, T> && std::ranges::borrowed_range<Data>
  result<> put_signal(std::uint32_t rank, std::size_t place, Data&& source, const window<W>& signals, std::size_t word,
                      std::uint64_t value, signal_kind k = signal_kind::set) const {
    return answer(tutti_put_signal(w_, rank, place * sizeof(T), detail::address_of(source), detail::bytes_of(source), signals.handle(),
                                   signals.offset_of(word), value, static_cast<int>(k), nullptr));
  }
  // `from`: who will signal.
  result<> wait_signal(std::size_t word, until compare, std::uint64_t value, std::uint32_t from = TUTTI_ANY,
                       seconds timeout = forever) const {
    return answer(tutti_wait_signal(w_, offset_of(word), static_cast<int>(compare), value, from, timeout.count()));
  }
  result<bool> test_signal(std::size_t word, until compare, std::uint64_t value) const {
    int yes = 0;
    if (const auto code = tutti_test_signal(w_, offset_of(word), static_cast<int>(compare), value, &yes); code != TUTTI_OK) return why(code);
    return yes != 0;
  }
  result<std::uint64_t> load_signal(std::size_t word) const {
    std::uint64_t value = 0;
    if (const auto code = tutti_load_signal(w_, offset_of(word), &value); code != TUTTI_OK) return why(code);
    return value;
  }

  // Atomics: `old` is written once the request is complete.
  result<request> fetch_add(std::uint32_t rank, std::size_t word, std::uint64_t value, std::uint64_t& old) const {
    tutti_request_t r{};
    return answer(tutti_fetch_add(w_, rank, offset_of(word), value, &old, &r), r);
  }
  result<request> swap(std::uint32_t rank, std::size_t word, std::uint64_t value, std::uint64_t& old) const {
    tutti_request_t r{};
    return answer(tutti_swap(w_, rank, offset_of(word), value, &old, &r), r);
  }
  result<request> compare_swap(std::uint32_t rank, std::size_t word, std::uint64_t expected, std::uint64_t value, std::uint64_t& old) const {
    tutti_request_t r{};
    return answer(tutti_compare_swap(w_, rank, offset_of(word), expected, value, &old, &r), r);
  }

  result<> flush(std::uint32_t rank = TUTTI_ALL, seconds timeout = forever) const { return answer(tutti_flush(w_, rank, timeout.count())); }

  static constexpr std::size_t offset_of(std::size_t word) noexcept {
    static_assert(sizeof(T) == 8 || std::is_same_v<T, std::byte>, "signals and atomics take words of 8 bytes");
    return word * sizeof(T);
  }

 private:
  window(tutti_window_t w, tutti_t ctx) noexcept : w_(w), ctx_(ctx) {}
  failure why(tutti_status_t code) const { return detail::failure_of(code, tutti_window_team(w_) ? ctx_ : nullptr); }
  result<> answer(tutti_status_t code) const {
    if (code == TUTTI_OK) [[likely]] return {};
    return why(code);
  }
  result<request> answer(tutti_status_t code, const tutti_request_t& r) const {  // a reference: the call that gave `code` writes it
    if (code == TUTTI_OK) [[likely]] return request(r, ctx_);
    return why(code);
  }

  tutti_window_t w_ = nullptr;
  tutti_t ctx_ = nullptr;
};

}  // namespace cpp
}  // namespace tutti
