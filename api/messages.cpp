// Tagged messages: arguments checked, and requests for what does not block.
#include <cstddef>

#include "api/layout_argument.h"
#include "api/use.h"

using namespace tutti;
using namespace tutti::api;
using messaging::receive_arguments;
using messaging::send_arguments;

tutti_status_t api::open_messages(tutti_context* ctx, const char* call) noexcept {
  return guarded(ctx, call, [&] {
    ctx->handlers_see.ctx = ctx;
    auto opened = messaging::messages::open(*ctx->job, &ctx->handlers_see, &ctx->in_handler);
    if (!opened) return report(ctx, opened.error().during(call));
    ctx->messages = std::move(*opened);
    for (auto& w : ctx->windows) tell_messages(*w);
    return TUTTI_OK;
  });
}

namespace {

static_assert(sizeof(tutti_envelope_t) == sizeof(messaging::envelope) && offsetof(tutti_envelope_t, tag) == offsetof(messaging::envelope, tag) &&
              offsetof(tutti_envelope_t, bytes) == offsetof(messaging::envelope, bytes));
static_assert(TUTTI_ANY == messaging::operation::any);

messaging::envelope* to_engine(tutti_envelope_t* e) noexcept { return reinterpret_cast<messaging::envelope*>(e); }

// The engine is there from here on.
tutti_status_t ready(tutti_context* ctx, const char* call) noexcept {
  if (ctx->messages) [[likely]] return TUTTI_OK;
  return open_messages(ctx, call);
}

[[gnu::cold]] tutti_status_t refuse_rank(tutti_team& t, const char* call, std::uint32_t rank, bool any) noexcept {
  const std::uint32_t size = t.group().size();
  return refuse(t.ctx, "%s: rank %u is not in the team of %u; use 0 to %u%s", call, rank, size, size - 1, any ? ", or TUTTI_ANY" : "");
}

tutti_status_t check_buffer(tutti_context* ctx, const char* call, const void* data, std::size_t bytes) noexcept {
  if (!data && bytes > 0) [[unlikely]] return refuse_null(ctx, call, "data");
  if (bytes > PTRDIFF_MAX) [[unlikely]] return refuse(ctx, "%s: %zu bytes are more than memory can hold", call, bytes);
  return TUTTI_OK;
}

tutti_status_t read_send(tutti_team& t, const char* call, std::uint32_t to, std::uint64_t tag, const void* data, std::size_t bytes, bool sync,
                         send_arguments& out) noexcept {
  if (to >= t.group().size()) [[unlikely]] return refuse_rank(t, call, to, false);
  if (const auto bad = check_buffer(t.ctx, call, data, bytes); bad != TUTTI_OK) [[unlikely]] return bad;
  out = {&t.group(), to, tag, data, bytes, sync};
  return ready(t.ctx, call);
}

tutti_status_t read_receive(tutti_team& t, const char* call, std::uint32_t from, std::uint64_t tag, std::uint64_t mask, void* data,
                            std::size_t room, tutti_envelope_t* found, receive_arguments& out) noexcept {
  if (from >= t.group().size() && from != TUTTI_ANY) [[unlikely]] return refuse_rank(t, call, from, true);
  if (const auto bad = check_buffer(t.ctx, call, data, room); bad != TUTTI_OK) [[unlikely]] return bad;
  out = {&t.group(), from, tag, mask, data, room, to_engine(found)};
  return ready(t.ctx, call);
}

status start(tutti_context* ctx, const send_arguments& a, request_slot& slot) noexcept {
  return ctx->messages->by_tag().start_send(a, slot.done, &slot.message);
}
status start(tutti_context* ctx, const receive_arguments& a, request_slot& slot) noexcept {
  return ctx->messages->by_tag().start_receive(a, slot.done, &slot.message);
}

// A request for what `begin` starts upon a slot; none, where that fails.
template <class Begin>
tutti_status_t with_slot(tutti_context* ctx, const char* call, tutti_request_t* request, Begin begin) noexcept {
  if (!request) [[unlikely]] return refuse_null(ctx, call, "request");
  request_slot* const slot = ctx->requests.take(ctx);
  if (!slot) [[unlikely]] return out_of_memory(ctx, call);
  if (const status s = begin(*slot); s.failed()) [[unlikely]] {
    ctx->requests.give(slot);
    return report(ctx, s.during(call));
  }
  *request = {slot, slot->ticket};
  return TUTTI_OK;
}

tutti_status_t send_now(tutti_team_t handle, const char* call, std::uint32_t to, std::uint64_t tag, const void* data, std::size_t bytes, bool sync) {
  const use team(handle, call);
  if (!team) [[unlikely]] return team.refuse("the team");
  send_arguments a;
  if (const auto bad = read_send(*team, call, to, tag, data, bytes, sync, a); bad != TUTTI_OK) [[unlikely]] return bad;
  const status s = team->ctx->messages->by_tag().send(a);
  if (s.ok()) [[likely]] return TUTTI_OK;
  return report(team->ctx, s.during(call));
}

tutti_status_t send_later(tutti_team_t handle, const char* call, std::uint32_t to, std::uint64_t tag, const void* data, std::size_t bytes,
                          bool sync, tutti_request_t* request) {
  const use team(handle, call, by_handlers_too);
  if (!team) [[unlikely]] return team.refuse("the team");
  send_arguments a;
  if (const auto bad = read_send(*team, call, to, tag, data, bytes, sync, a); bad != TUTTI_OK) [[unlikely]] return bad;
  return with_slot(team->ctx, call, request, [&](request_slot& slot) { return start(team->ctx, a, slot); });
}

template <class Arguments>
tutti_status_t make_persistent(tutti_team& t, const char* call, const Arguments& a, tutti_request_t* request) {
  return guarded(t.ctx, call, [&] {
    return with_slot(t.ctx, call, request, [&](request_slot& slot) {
      slot.again = std::make_unique<persistent_call>(t.comm.get(), a);
      return status{};
    });
  });
}

tutti_status_t send_again(tutti_team_t handle, const char* call, std::uint32_t to, std::uint64_t tag, const void* data, std::size_t bytes,
                          bool sync, tutti_request_t* request) {
  const use team(handle, call, by_handlers_too);
  if (!team) return team.refuse("the team");
  send_arguments a;
  if (const auto bad = read_send(*team, call, to, tag, data, bytes, sync, a); bad != TUTTI_OK) return bad;
  return make_persistent(*team, call, a, request);
}

// The arguments of a probe, and whether it found a message.
template <class Probe>
tutti_status_t probe_by(tutti_team_t handle, const char* call, std::uint32_t from, std::uint64_t tag, std::uint64_t mask,
                        tutti_envelope_t* found, Probe probe) {
  const use team(handle, call);
  if (!team) return team.refuse("the team");
  receive_arguments a;
  if (const auto bad = read_receive(*team, call, from, tag, mask, nullptr, 0, nullptr, a); bad != TUTTI_OK) return bad;
  tutti_context* const ctx = team->ctx;
  return guarded(ctx, call, [&] {
    messaging::kept* k = nullptr;
    const tutti_status_t s = probe(ctx, a, k);
    if (s == TUTTI_OK && k && found) *to_engine(found) = ctx->messages->by_tag().envelope_of(*k, *a.group);
    return s;
  });
}

tutti_status_t wait_for_message(tutti_context* ctx, const char* call, const receive_arguments& a, messaging::kept*& k) {
  return finish(ctx, ctx->messages->by_tag().probe(a, k).during(call));
}

tutti_status_t look_for_message(tutti_context* ctx, const receive_arguments& a, messaging::kept*& k) {
  messaging::tagged& t = ctx->messages->by_tag();
  if ((k = t.find(a))) return TUTTI_OK;
  ctx->job->progress();
  k = t.find(a);
  return TUTTI_OK;
}

tutti_status_t take_message(tutti_context* ctx, const char* call, const receive_arguments& a, messaging::kept& k, tutti_message_t* out) {
  request_slot* const slot = ctx->requests.take(ctx);
  if (!slot) return out_of_memory(ctx, call);
  slot->number = ctx->messages->by_tag().take_out(k, *a.group);
  *out = {slot, slot->ticket};
  return TUTTI_OK;
}

// Receives *message by `begin`, given the slot that stood for it, and zeroes it.
template <class Begin>
tutti_status_t receive_message(tutti_message_t* message, const char* call, bool handlers_may, void* data, std::size_t room, Begin begin) {
  if (!message || !message->slot) return refuse_null(nullptr, call, "message, which tutti_mprobe() or tutti_improbe() gives,");
  auto* const slot = static_cast<request_slot*>(message->slot);
  if (slot->ticket != message->ticket) return refuse(slot->owner, "%s: this is a stale copy of a message that was received before", call);
  const use held(handle_of(slot->owner), call, handlers_may);
  if (!held) return held.refuse("the message's context");
  tutti_context* const ctx = slot->owner;
  if (const auto bad = check_buffer(ctx, call, data, room); bad != TUTTI_OK) return bad;
  return guarded(ctx, call, [&] {
    messaging::kept* const k = ctx->messages->by_tag().with_ticket(slot->number);
    if (!k) {
      ctx->requests.give(slot);
      *message = {};
      return report(ctx, status(errc::peer_dead, worded(call, ": the message's sender died, or its team was freed")));
    }
    const tutti_status_t s = begin(ctx, *k);
    if (s == TUTTI_NO_RESOURCE) return s;  // it is still to be received
    ctx->requests.give(slot);
    *message = {};
    return s;
  });
}

}  // namespace

status api::begin_message(tutti_context* ctx, persistent_call& again, request_slot& slot) {
  if (const auto* const a = std::get_if<send_arguments>(&again.call)) return start(ctx, *a, slot);
  return start(ctx, std::get<receive_arguments>(again.call), slot);
}

tutti_status_t tutti_send(tutti_team_t team, uint32_t to, uint64_t tag, const void* data, size_t bytes) {
  return send_now(team, "tutti_send", to, tag, data, bytes, false);
}
tutti_status_t tutti_ssend(tutti_team_t team, uint32_t to, uint64_t tag, const void* data, size_t bytes) {
  return send_now(team, "tutti_ssend", to, tag, data, bytes, true);
}
tutti_status_t tutti_try_send(tutti_team_t handle, uint32_t to, uint64_t tag, const void* data, size_t bytes, int* sent) {
  constexpr const char* call = "tutti_try_send";
  const use team(handle, call, by_handlers_too);
  if (!team) [[unlikely]] return team.refuse("the team");
  if (!sent) return refuse_null(team->ctx, call, "sent");
  send_arguments a;
  if (const auto bad = read_send(*team, call, to, tag, data, bytes, false, a); bad != TUTTI_OK) [[unlikely]] return bad;
  *sent = team->ctx->messages->by_tag().try_send(a);
  return TUTTI_OK;
}
tutti_status_t tutti_isend(tutti_team_t team, uint32_t to, uint64_t tag, const void* data, size_t bytes, tutti_request_t* request) {
  return send_later(team, "tutti_isend", to, tag, data, bytes, false, request);
}
tutti_status_t tutti_issend(tutti_team_t team, uint32_t to, uint64_t tag, const void* data, size_t bytes, tutti_request_t* request) {
  return send_later(team, "tutti_issend", to, tag, data, bytes, true, request);
}
tutti_status_t tutti_send_init(tutti_team_t team, uint32_t to, uint64_t tag, const void* data, size_t bytes, tutti_request_t* request) {
  return send_again(team, "tutti_send_init", to, tag, data, bytes, false, request);
}
tutti_status_t tutti_ssend_init(tutti_team_t team, uint32_t to, uint64_t tag, const void* data, size_t bytes, tutti_request_t* request) {
  return send_again(team, "tutti_ssend_init", to, tag, data, bytes, true, request);
}

tutti_status_t tutti_recv(tutti_team_t handle, uint32_t from, uint64_t tag, uint64_t mask, void* data, size_t room, tutti_envelope_t* envelope) {
  constexpr const char* call = "tutti_recv";
  const use team(handle, call);
  if (!team) [[unlikely]] return team.refuse("the team");
  receive_arguments a;
  if (const auto bad = read_receive(*team, call, from, tag, mask, data, room, envelope, a); bad != TUTTI_OK) [[unlikely]] return bad;
  const status s = team->ctx->messages->by_tag().receive(a);
  if (s.ok()) [[likely]] return TUTTI_OK;
  return report(team->ctx, s.during(call));
}

tutti_status_t tutti_irecv(tutti_team_t handle, uint32_t from, uint64_t tag, uint64_t mask, void* data, size_t room,
                           tutti_envelope_t* envelope, tutti_request_t* request) {
  constexpr const char* call = "tutti_irecv";
  const use team(handle, call, by_handlers_too);
  if (!team) [[unlikely]] return team.refuse("the team");
  receive_arguments a;
  if (const auto bad = read_receive(*team, call, from, tag, mask, data, room, envelope, a); bad != TUTTI_OK) [[unlikely]] return bad;
  return with_slot(team->ctx, call, request, [&](request_slot& slot) { return start(team->ctx, a, slot); });
}

tutti_status_t tutti_recv_init(tutti_team_t handle, uint32_t from, uint64_t tag, uint64_t mask, void* data, size_t room,
                               tutti_envelope_t* envelope, tutti_request_t* request) {
  constexpr const char* call = "tutti_recv_init";
  const use team(handle, call, by_handlers_too);
  if (!team) return team.refuse("the team");
  receive_arguments a;
  if (const auto bad = read_receive(*team, call, from, tag, mask, data, room, envelope, a); bad != TUTTI_OK) return bad;
  return make_persistent(*team, call, a, request);
}

tutti_status_t tutti_isend_layout(tutti_team_t handle, uint32_t to, uint64_t tag, const void* base, const tutti_layout_t* layout,
                                  tutti_request_t* request) {
  constexpr const char* call = "tutti_isend_layout";
  const use team(handle, call, by_handlers_too);
  if (!team) [[unlikely]] return team.refuse("the team");
  return guarded(team->ctx, call, [&] {
    const auto l = read_layout_at(layout, base);
    if (!l) return report(team->ctx, l.error().during(call));
    send_arguments a;
    if (const auto bad = read_send(*team, call, to, tag, nullptr, 0, false, a); bad != TUTTI_OK) return bad;
    a.data = base, a.layout = &*l;
    return with_slot(team->ctx, call, request, [&](request_slot& slot) { return start(team->ctx, a, slot); });
  });
}

tutti_status_t tutti_irecv_layout(tutti_team_t handle, uint32_t from, uint64_t tag, uint64_t mask, void* base, const tutti_layout_t* layout,
                                  tutti_envelope_t* envelope, tutti_request_t* request) {
  constexpr const char* call = "tutti_irecv_layout";
  const use team(handle, call, by_handlers_too);
  if (!team) [[unlikely]] return team.refuse("the team");
  return guarded(team->ctx, call, [&] {
    const auto l = read_layout_at(layout, base);
    if (!l) return report(team->ctx, l.error().during(call));
    receive_arguments a;
    if (const auto bad = read_receive(*team, call, from, tag, mask, nullptr, 0, envelope, a); bad != TUTTI_OK) return bad;
    a.data = base, a.layout = &*l;
    return with_slot(team->ctx, call, request, [&](request_slot& slot) { return start(team->ctx, a, slot); });
  });
}

tutti_status_t tutti_sendrecv(tutti_team_t handle, uint32_t to, uint64_t send_tag, const void* out, size_t out_bytes, uint32_t from,
                              uint64_t recv_tag, uint64_t mask, void* in, size_t room, tutti_envelope_t* envelope) {
  constexpr const char* call = "tutti_sendrecv";
  const use team(handle, call);
  if (!team) [[unlikely]] return team.refuse("the team");
  send_arguments sends;
  receive_arguments receives;
  if (const auto bad = read_send(*team, call, to, send_tag, out, out_bytes, false, sends); bad != TUTTI_OK) [[unlikely]] return bad;
  if (const auto bad = read_receive(*team, call, from, recv_tag, mask, in, room, envelope, receives); bad != TUTTI_OK) [[unlikely]] return bad;
  const status s = team->ctx->messages->by_tag().exchange(sends, receives);
  if (s.ok()) [[likely]] return TUTTI_OK;
  return report(team->ctx, s.during(call));
}

tutti_status_t tutti_probe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, tutti_envelope_t* envelope) {
  return probe_by(team, "tutti_probe", from, tag, mask, envelope, [](tutti_context* ctx, const receive_arguments& a, messaging::kept*& k) {
    return wait_for_message(ctx, "tutti_probe", a, k);
  });
}

tutti_status_t tutti_iprobe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, int* found, tutti_envelope_t* envelope) {
  return probe_by(team, "tutti_iprobe", from, tag, mask, envelope, [&](tutti_context* ctx, const receive_arguments& a, messaging::kept*& k) {
    if (!found) return refuse_null(ctx, "tutti_iprobe", "found");
    const tutti_status_t s = look_for_message(ctx, a, k);
    *found = k != nullptr;
    return s;
  });
}

tutti_status_t tutti_mprobe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, tutti_message_t* message, tutti_envelope_t* envelope) {
  constexpr const char* call = "tutti_mprobe";
  return probe_by(team, call, from, tag, mask, envelope, [&](tutti_context* ctx, const receive_arguments& a, messaging::kept*& k) {
    if (!message) return refuse_null(ctx, call, "message, where the message goes,");
    const tutti_status_t s = wait_for_message(ctx, call, a, k);
    return s == TUTTI_OK ? take_message(ctx, call, a, *k, message) : s;
  });
}

tutti_status_t tutti_improbe(tutti_team_t team, uint32_t from, uint64_t tag, uint64_t mask, int* found, tutti_message_t* message,
                             tutti_envelope_t* envelope) {
  constexpr const char* call = "tutti_improbe";
  return probe_by(team, call, from, tag, mask, envelope, [&](tutti_context* ctx, const receive_arguments& a, messaging::kept*& k) {
    if (!found || !message) return refuse_null(ctx, call, found ? "message, where the message goes," : "found");
    const tutti_status_t s = look_for_message(ctx, a, k);
    *found = k != nullptr;
    return s == TUTTI_OK && k ? take_message(ctx, call, a, *k, message) : s;
  });
}

tutti_status_t tutti_mrecv(tutti_message_t* message, void* data, size_t room, tutti_envelope_t* envelope) {
  return receive_message(message, "tutti_mrecv", false, data, room, [&](tutti_context* ctx, messaging::kept& k) {
    const receive_arguments a{.data = data, .room = room, .found = to_engine(envelope)};
    return finish(ctx, ctx->messages->by_tag().receive_matched(k, a).during("tutti_mrecv"));
  });
}

tutti_status_t tutti_imrecv(tutti_message_t* message, void* data, size_t room, tutti_envelope_t* envelope, tutti_request_t* request) {
  return receive_message(message, "tutti_imrecv", by_handlers_too, data, room, [&](tutti_context* ctx, messaging::kept& k) {
    const receive_arguments a{.data = data, .room = room, .found = to_engine(envelope)};
    return with_slot(ctx, "tutti_imrecv", request, [&](request_slot& slot) {
      return ctx->messages->by_tag().start_matched(k, a, slot.done, &slot.message);
    });
  });
}

tutti_status_t tutti_cancel(tutti_request_t* request, int* cancelled) {
  constexpr const char* call = "tutti_cancel";
  if (!request || !request->slot) return refuse_null(nullptr, call, "request");
  auto* const slot = static_cast<request_slot*>(request->slot);
  if (slot->ticket != request->ticket) return refuse(slot->owner, "%s: the request is complete already", call);
  const use held(handle_of(slot->owner), call, by_handlers_too);
  if (!held) return held.refuse("the request's context");
  tutti_context* const ctx = slot->owner;
  if (!cancelled) return refuse_null(ctx, call, "cancelled");
  if (!slot->message || slot->done.idle() || slot->message->sends)
    return refuse(ctx, "%s: the request is of no receive, or is complete already", call);
  *cancelled = ctx->messages->by_tag().cancel(*slot->message);
  if (!*cancelled) return TUTTI_OK;
  if (slot->again) {
    slot->again->active = false;
  } else {
    ctx->requests.give(slot);
    *request = {};
  }
  return TUTTI_OK;
}

