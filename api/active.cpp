// Active messages: arguments checked, handed to messaging/active; and the data of long ones put.
#include <algorithm>

#include "api/use.h"

using namespace tutti;
using namespace tutti::api;
using messaging::active_messages;

static_assert(TUTTI_AM_ARGUMENTS == active_messages::most_arguments && TUTTI_AM_HANDLERS == active_messages::handlers);

tutti_context* handler_world::handle() noexcept { return handle_of(ctx); }

messaging::active_messages::surroundings::window_state handler_world::part(std::uint64_t team, std::uint64_t window, std::span<std::byte>& out) noexcept {
  for (const auto& w : ctx->windows) {
    if (w->number != window || w->team->group().id() != team) continue;
    out = {w->memory->base(), w->memory->size_of(w->memory->group().index())};
    return window_state::there;
  }
  const auto makes_it = [&](tutti_team& t) { return t.making_window && t.windows_made == window && t.group().id() == team; };
  const bool later = makes_it(*ctx->world) || std::ranges::any_of(ctx->teams, [&](const auto& t) { return makes_it(*t); });
  return later ? window_state::later : window_state::gone;
}

namespace {

tutti_status_t ready(tutti_context* ctx, const char* call) noexcept {
  return ctx->messages ? TUTTI_OK : open_messages(ctx, call);
}

tutti_status_t check_number(tutti_context* ctx, const char* call, std::uint32_t number) noexcept {
  if (number < TUTTI_AM_HANDLERS) [[likely]] return TUTTI_OK;
  return refuse(ctx, "%s: number %u is beyond the handlers' numbers; use 0 to %d", call, number, TUTTI_AM_HANDLERS - 1);
}

struct arguments {
  std::uint32_t number;
  const std::uint64_t* words;
  std::size_t count;
  const void* payload;
  std::size_t bytes;
  active_messages::contents contents() const noexcept { return {number, {words, count}, {static_cast<const std::byte*>(payload), bytes}}; }
};

tutti_status_t check_words(tutti_context* ctx, const char* call, const arguments& a) noexcept {
  if (auto bad = check_number(ctx, call, a.number); bad != TUTTI_OK) [[unlikely]] return bad;
  if (a.count > TUTTI_AM_ARGUMENTS) [[unlikely]]
    return refuse(ctx, "%s: %zu arguments are more than a message has; use %d at most, or the payload", call, a.count, TUTTI_AM_ARGUMENTS);
  if (!a.words && a.count > 0) [[unlikely]] return refuse_null(ctx, call, "arguments");
  return TUTTI_OK;
}

tutti_status_t check(tutti_context* ctx, const char* call, const arguments& a) noexcept {
  if (auto bad = check_words(ctx, call, a); bad != TUTTI_OK) [[unlikely]] return bad;
  if (!a.payload && a.bytes > 0) [[unlikely]] return refuse_null(ctx, call, "payload");
  if (auto bad = ready(ctx, call); bad != TUTTI_OK) [[unlikely]] return bad;
  if (const std::size_t most = ctx->messages->active().most_bytes(); a.bytes > most) [[unlikely]]
    return refuse(ctx, "%s: %zu bytes are more than a message takes along; use tutti_am_max_medium(), %zu, at most, or a long message", call,
                  a.bytes, most);
  return TUTTI_OK;
}

template <class Send>
tutti_status_t send_to(tutti_t handle, const char* call, std::uint32_t rank, const arguments& a, Send send) noexcept {
  const use ctx(handle, call, by_handlers_too);
  if (!ctx) [[unlikely]] return ctx.refuse("ctx");
  if (rank >= ctx->job->size()) [[unlikely]]
    return refuse(ctx.get(), "%s: rank %u is not in the job of %u; use 0 to %u", call, rank, ctx->job->size(), ctx->job->size() - 1);
  if (auto bad = check(ctx.get(), call, a); bad != TUTTI_OK) [[unlikely]] return bad;
  if (const status s = send(ctx->messages->active(), rank, a.contents()); s.failed()) [[unlikely]] return report(ctx.get(), s.during(call));
  return TUTTI_OK;
}

// The data under way in `request`, and the message behind them. Without a request of the caller's, one is waited for here.
tutti_status_t put_and_announce(tutti_context* ctx, const char* call, active_messages::long_message& m, tutti_window_t window, std::uint32_t rank,
                                std::uint64_t offset, const void* source, std::size_t bytes, tutti_request_t* request) noexcept {
  active_messages& active = ctx->messages->active();
  tutti_request_t own{};
  if (const auto bad = tutti_put(window, rank, offset, source, bytes, request ? request : &own); bad != TUTTI_OK) {
    active.cancel(m);
    return bad;
  }
  active.announce(m);
  if (request) return TUTTI_OK;
  auto* const slot = static_cast<request_slot*>(own.slot);
  return guarded(ctx, call, [&] {
    const status waited = ctx->job->wait(slot->done, "data of an active message");
    const status s = waited.failed() ? waited : slot->done.outcome();
    if (slot->done.idle()) ctx->requests.give(slot);
    else ctx->requests.abandon(slot);
    return finish(ctx, s.during(call));
  });
}

tutti_am* live(tutti_am_t message) noexcept { return message && message->live ? message : nullptr; }

}  // namespace

tutti_status_t tutti_am_register(tutti_t handle, uint32_t number, tutti_am_handler handler, void* handler_context) {
  constexpr const char* call = "tutti_am_register";
  const use ctx(handle, call, by_handlers_too);
  if (!ctx) return ctx.refuse("ctx");
  if (auto bad = check_number(ctx.get(), call, number); bad != TUTTI_OK) return bad;
  if (auto bad = ready(ctx.get(), call); bad != TUTTI_OK) return bad;
  return guarded(ctx.get(), call, [&] { return finish(ctx.get(), ctx->messages->active().set_handler(number, handler, handler_context).during(call)); });
}

size_t tutti_am_max_medium(tutti_t handle) {
  tutti_context* ctx = find(handle);
  if (!ctx || ready(ctx, "tutti_am_max_medium") != TUTTI_OK) return 0;
  return ctx->messages->active().most_bytes();
}

tutti_status_t tutti_am_request(tutti_t ctx, uint32_t rank, uint32_t number, const uint64_t* arguments, size_t argument_count,
                                const void* payload, size_t bytes) {
  return send_to(ctx, "tutti_am_request", rank, {number, arguments, argument_count, payload, bytes},
                 [](active_messages& e, rank_t to, const active_messages::contents& c) { return e.request(to, c); });
}

tutti_status_t tutti_am_send(tutti_t ctx, uint32_t rank, uint32_t number, const uint64_t* arguments, size_t argument_count,
                             const void* payload, size_t bytes) {
  return send_to(ctx, "tutti_am_send", rank, {number, arguments, argument_count, payload, bytes},
                 [](active_messages& e, rank_t to, const active_messages::contents& c) { return e.send(to, c); });
}

tutti_status_t tutti_am_request_long(tutti_window_t handle, uint32_t rank, uint64_t offset, const void* source, size_t bytes,
                                     uint32_t number, const uint64_t* words, size_t argument_count, tutti_request_t* request) {
  constexpr const char* call = "tutti_am_request_long";
  use window(handle, call, by_handlers_too);
  if (!window) return window.refuse("the window");
  tutti_window* const w = window.get();
  tutti_context* const ctx = w->ctx;
  const tutti::window& m = *w->memory;
  const arguments a{number, words, argument_count, nullptr, 0};
  if (!m.holds(rank, offset, bytes))
    return refuse(ctx, "%s: %zu bytes at offset %llu of rank %u do not lie in the window of %u ranks, or not in that rank's part of %zu bytes", call,
                  bytes, static_cast<unsigned long long>(offset), rank, m.group().size(), tutti_window_size(handle, rank));
  if (auto bad = check_words(ctx, call, a); bad != TUTTI_OK) return bad;
  if (!source && bytes > 0) return refuse_null(ctx, call, "source");
  if (auto bad = ready(ctx, call); bad != TUTTI_OK) return bad;
  active_messages& active = ctx->messages->active();
  if (!request && active.in_handler()) return refuse(ctx, "%s: request is NULL, where a handler may not wait; pass one", call);
  active_messages::long_message* message;
  const messaging::wire_long at{m.group().id(), w->number, offset, bytes};
  if (const status s = active.reserve(m.group().rank_of(rank), a.contents(), at, message); s.failed()) return report(ctx, s.during(call));
  window.end_early();  // the put takes a turn of its own
  return put_and_announce(ctx, call, *message, handle, rank, offset, source, bytes, request);
}

tutti_status_t tutti_am_reply(tutti_am_t message, uint32_t number, const uint64_t* words, size_t argument_count, const void* payload,
                              size_t bytes) {
  constexpr const char* call = "tutti_am_reply";
  if (!message) return refuse_null(nullptr, call, "message");
  tutti_context* const ctx = find(message->engine->owner());
  if (!ctx) return refuse(nullptr, "%s: the message's context is gone; reply within the handler", call);
  const arguments a{number, words, argument_count, payload, bytes};
  if (auto bad = check(ctx, call, a); bad != TUTTI_OK) [[unlikely]] return bad;
  if (const status s = message->engine->reply(*message, a.contents()); s.failed()) [[unlikely]] return report(ctx, s.during(call));
  return TUTTI_OK;
}

uint32_t tutti_am_source(tutti_am_t message) { return live(message) ? message->from->rank : TUTTI_NO_RANK; }

tutti_t tutti_am_context(tutti_am_t message) { return live(message) ? message->engine->owner() : nullptr; }
