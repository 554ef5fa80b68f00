// Tagged messages, by elements. The last argument tells how to begin, as of collectives.
#pragma once
#include <tutti.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <tutti/collectives.hpp>
#include <tutti/layout.hpp>

namespace tutti {
inline namespace cpp {

using envelope = tutti_envelope_t;  // source, tag, and the bytes of the whole message

inline constexpr std::uint32_t any_source = TUTTI_ANY;

// Which tags a receive takes: one, those that agree with `tag` in the bits of `mask`, or any_tag.
struct tag_match {
  constexpr tag_match(std::uint64_t t) noexcept : tag(t) {}
  constexpr tag_match(std::uint64_t t, std::uint64_t m) noexcept : tag(t), mask(m) {}
  std::uint64_t tag, mask = TUTTI_WHOLE_TAG;
};
inline constexpr tag_match any_tag{0, TUTTI_ANY_TAG};

namespace detail {
template <class H, class Forms, class... A>
typename H::answer begin_receive(team_view t, H how, const Forms& f, A... arguments) {
  return how.call(t, true, f, arguments...);
}
}  // namespace detail

template <readable Data, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, Data>
typename H::answer send(team_view t, std::uint32_t to, std::uint64_t tag, Data&& data, H how = {}) {
  return detail::begin(t, how, detail::forms{tutti_send, tutti_isend, tutti_send_init}, to, tag,
                       static_cast<const void*>(detail::address_of(data)), detail::bytes_of(data));
}
// Whether it was complete at once; if not, nothing was done.
template <readable Data>
result<bool> try_send(team_view t, std::uint32_t to, std::uint64_t tag, Data&& data) {
  int sent = 0;
  if (const auto code = tutti_try_send(t.handle(), to, tag, detail::address_of(data), detail::bytes_of(data), &sent); code != TUTTI_OK)
    return detail::failure_of(code, t.context_handle());
  return sent != 0;
}
// Complete once a receive has matched the message.
template <readable Data, way_to_begin H = detail::blocking_t>
  requires detail::outlives<H, Data>
typename H::answer ssend(team_view t, std::uint32_t to, std::uint64_t tag, Data&& data, H how = {}) {
  return detail::begin(t, how, detail::forms{tutti_ssend, tutti_issend, tutti_ssend_init}, to, tag,
                       static_cast<const void*>(detail::address_of(data)), detail::bytes_of(data));
}

// `found` is written once the receive is complete, also where the message was longer than `data` (TUTTI_TRUNCATED).
template <writable Data, way_to_begin H>
  requires detail::outlives<H, Data>
typename H::answer recv(team_view t, std::uint32_t from, tag_match m, Data&& data, envelope* found, H how) {
  return detail::begin_receive(t, how, detail::forms{tutti_recv, tutti_irecv, tutti_recv_init}, from, m.tag, m.mask,
                               static_cast<void*>(detail::address_of(data)), detail::bytes_of(data), found);
}
template <writable Data, way_to_begin H>
  requires detail::outlives<H, Data>
typename H::answer recv(team_view t, std::uint32_t from, tag_match m, Data&& data, H how) {
  return cpp::recv(t, from, m, data, static_cast<envelope*>(nullptr), how);
}
template <writable Data>
result<envelope> recv(team_view t, std::uint32_t from, tag_match m, Data&& data) {
  envelope found{};
  if (auto done = cpp::recv(t, from, m, data, &found, blocking); done.failed()) return std::move(done).error();
  return found;
}

template <readable Out, writable In>
result<envelope> sendrecv(team_view t, std::uint32_t to, std::uint64_t tag, Out&& out, std::uint32_t from, tag_match m, In&& in) {
  envelope found{};
  const auto code = tutti_sendrecv(t.handle(), to, tag, detail::address_of(out), detail::bytes_of(out), from, m.tag, m.mask,
                                   detail::address_of(in), detail::bytes_of(in), &found);
  if (code != TUTTI_OK) return detail::failure_of(code, t.context_handle());
  return found;
}

// What a layout lists from `base` on, at this end of the message.
inline result<request> send(team_view t, std::uint32_t to, std::uint64_t tag, const void* base, const layout& l) {
  return detail::begin(t, nonblocking, detail::forms{detail::none{}, tutti_isend_layout, detail::none{}}, to, tag, base, l.get());
}
inline result<request> recv(team_view t, std::uint32_t from, tag_match m, void* base, const layout& l, envelope* found = nullptr) {
  return detail::begin_receive(t, nonblocking, detail::forms{detail::none{}, tutti_irecv_layout, detail::none{}}, from, m.tag, m.mask,
                               base, l.get(), found);
}

// --- looking for messages

inline result<envelope> probe(team_view t, std::uint32_t from, tag_match m) {
  envelope found{};
  if (const auto code = tutti_probe(t.handle(), from, m.tag, m.mask, &found); code != TUTTI_OK)
    return detail::failure_of(code, t.context_handle());
  return found;
}
inline result<std::optional<envelope>> iprobe(team_view t, std::uint32_t from, tag_match m) {
  envelope is{};
  int found = 0;
  if (const auto code = tutti_iprobe(t.handle(), from, m.tag, m.mask, &found, &is); code != TUTTI_OK)
    return detail::failure_of(code, t.context_handle());
  return found ? std::optional(is) : std::nullopt;
}

// A message that was taken out of the matching, which this object alone can receive. Until then it counts as unmatched. The destructor
// receives and discards a message that was not received, so the sender gets its credit back, and a synchronous send ends.
class message {
 public:
  message(tutti_message_t m, envelope e, tutti_t ctx) noexcept : is_(m), envelope_(e), ctx_(ctx) {}
  message(message&& other) noexcept : is_(std::exchange(other.is_, {})), envelope_(other.envelope_), ctx_(other.ctx_) {}
  message& operator=(message&& other) noexcept {
    std::swap(is_, other.is_), std::swap(envelope_, other.envelope_), std::swap(ctx_, other.ctx_);
    return *this;
  }
  ~message() {
    if (is_.slot) (void)tutti_mrecv(&is_, detail::nothing, 0, nullptr);
  }

  const tutti_envelope_t& envelope() const noexcept { return envelope_; }
  template <writable Data>
  result<> recv(Data&& data) {
    return detail::answer(tutti_mrecv(&is_, detail::address_of(data), detail::bytes_of(data), nullptr), ctx_);
  }
  template <writable Data>
    requires std::ranges::borrowed_range<Data>
  result<request> recv(Data&& data, decltype(nonblocking)) {
    tutti_request_t r{};
    const auto code = tutti_imrecv(&is_, detail::address_of(data), detail::bytes_of(data), nullptr, &r);
    if (code != TUTTI_OK) return detail::failure_of(code, ctx_);
    return request(r, ctx_);
  }

 private:
  tutti_message_t is_;
  tutti_envelope_t envelope_;
  tutti_t ctx_;
};

inline result<message> mprobe(team_view t, std::uint32_t from, tag_match m) {
  envelope is{};
  tutti_message_t taken{};
  if (const auto code = tutti_mprobe(t.handle(), from, m.tag, m.mask, &taken, &is); code != TUTTI_OK)
    return detail::failure_of(code, t.context_handle());
  return message(taken, is, t.owner());
}
inline result<std::optional<message>> improbe(team_view t, std::uint32_t from, tag_match m) {
  envelope is{};
  tutti_message_t taken{};
  int found = 0;
  if (const auto code = tutti_improbe(t.handle(), from, m.tag, m.mask, &found, &taken, &is); code != TUTTI_OK)
    return detail::failure_of(code, t.context_handle());
  if (!found) return std::optional<message>();
  return std::optional<message>(message(taken, is, t.owner()));
}

}  // namespace cpp
}  // namespace tutti
