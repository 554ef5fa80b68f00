// A rank's membership of its job.
#pragma once
#include <tutti.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

#include <tutti/active.hpp>
#include <tutti/data.hpp>
#include <tutti/request.hpp>
#include <tutti/team.hpp>
#include <tutti/window.hpp>

namespace tutti {
inline namespace cpp {

// To leave the job well is collective: finalize(). A context that is destroyed without it is a rank that cannot go on, and leaves as
// by abandon(): the destructor waits for nobody, and what waits for this rank elsewhere ends with TUTTI_PEER_DEAD.
class context {
 public:
  // Collective over the job.
  static result<context> init(const tutti_options_t* options = nullptr) {
    tutti_t ctx = nullptr;
    if (const auto code = tutti_init(options, &ctx); code != TUTTI_OK) return detail::failure_of(code, nullptr);
    return context(ctx);
  }
  static result<context> init(std::initializer_list<tutti_setting_t> settings) {
    tutti_options_t o{};
    o.struct_size = sizeof o, o.settings = settings.begin(), o.setting_count = settings.size();
    return init(&o);
  }
  context(context&& other) noexcept : ctx_(std::exchange(other.ctx_, nullptr)) {}
  context& operator=(context&& other) noexcept { return std::swap(ctx_, other.ctx_), *this; }
  ~context() { abandon(); }

  result<> finalize() {
    if (const auto code = tutti_finalize(&ctx_); code != TUTTI_OK) return detail::failure_of(code, ctx_);
    return {};
  }
  void abandon() noexcept {
    if (ctx_) (void)tutti_abandon(&ctx_);
  }
  result<> progress() const { return detail::answer(tutti_progress(ctx_), ctx_); }
  result<> quiet(seconds timeout = forever) const { return detail::answer(tutti_quiet(ctx_, timeout.count()), ctx_); }

  team_view world() const noexcept { return {tutti_world(ctx_), ctx_}; }
  std::uint32_t rank() const noexcept { return tutti_rank(ctx_); }
  std::uint32_t size() const noexcept { return tutti_size(ctx_); }
  std::uint32_t nodes() const noexcept { return tutti_nodes(ctx_); }
  std::uint32_t node_of(std::uint32_t rank) const noexcept { return tutti_node_of(ctx_, rank); }
  std::uint32_t local_rank() const noexcept { return tutti_local_rank(ctx_); }
  std::uint32_t local_size() const noexcept { return tutti_local_size(ctx_); }
  const char* fabric() const noexcept { return tutti_fabric(ctx_); }
  tutti_capabilities_t capabilities() const noexcept {
    tutti_capabilities_t c{};
    c.struct_size = sizeof c;
    (void)tutti_capabilities(ctx_, &c);
    return c;
  }
  tutti_t handle() const noexcept { return ctx_; }

  // An operation on two T: f(a, b), a from the lower rank.
  template <class T, class F>
  result<own_operation<T, F>> make_operation(F f, bool commutative = false) const {
    return own_operation<T, F>::make(ctx_, std::move(f), commutative);
  }

  // --- active messages; ranks are those of the job

  template <class F>
  result<handler<F>> handle(std::uint32_t number, F f) const { return handler<F>::make(ctx_, number, std::move(f)); }
  std::size_t max_medium() const noexcept { return tutti_am_max_medium(ctx_); }
  // The handler may reply to a request(), and not to a notify().
  template <readable Data = std::span<const std::byte>>
  result<> request(std::uint32_t rank, std::uint32_t number, arguments a, const Data& payload = {}) const {
    return detail::answer(
        tutti_am_request(ctx_, rank, number, a.data(), a.size(), detail::address_of(payload), detail::bytes_of(payload)), ctx_);
  }
  template <readable Data = std::span<const std::byte>>
  result<> notify(std::uint32_t rank, std::uint32_t number, arguments a, const Data& payload = {}) const {
    return detail::answer(
        tutti_am_send(ctx_, rank, number, a.data(), a.size(), detail::address_of(payload), detail::bytes_of(payload)), ctx_);
  }
  // The payload goes to the window of rank `rank` of its team first. The request is complete once `source` may be changed.
  template <class T, readable Data>
    requires std::same_as<element<Data>, T> && std::ranges::borrowed_range<Data>
  result<cpp::request> request(const window<T>& w, std::uint32_t rank, std::size_t place, Data&& source, std::uint32_t number,
                               arguments a) const {
    tutti_request_t r{};
    const auto code = tutti_am_request_long(w.handle(), rank, place * sizeof(T), detail::address_of(source), detail::bytes_of(source),
                                            number, a.data(), a.size(), &r);
    if (code != TUTTI_OK) return detail::failure_of(code, ctx_);
    return cpp::request(r, ctx_);
  }

 private:
  explicit context(tutti_t ctx) noexcept : ctx_(ctx) {}
  tutti_t ctx_;
};

}  // namespace cpp
}  // namespace tutti
