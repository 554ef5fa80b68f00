// One-sided operations: checked, made into descriptors, and handed to the transport. The checks are all that is added
// to the transport's own cost; whatever is slow or wrong goes out of line.
#include <algorithm>

#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

[[gnu::cold]] tutti_status_t refuse_place(tutti_window* w, const char* call, std::uint32_t rank, std::uint64_t offset,
                                          std::uint64_t bytes) noexcept {
  const window& m = *w->memory;
  const std::uint32_t size = m.group().size();
  if (rank >= size)
    return refuse(w->ctx, "%s: rank %u is not in the window's team of %u; use 0 to %u", call, rank, size, size - 1);
  return refuse(w->ctx, "%s: offset %llu with %llu bytes ends behind the window of rank %u, which has %llu bytes", call,
                static_cast<unsigned long long>(offset), static_cast<unsigned long long>(bytes), rank,
                static_cast<unsigned long long>(m.size_of(rank)));
}

[[gnu::cold]] tutti_status_t refuse_word(tutti_window* w, const char* call, std::uint32_t rank,
                                         std::uint64_t offset) noexcept {
  if (offset % 8 == 0) return refuse_place(w, call, rank, offset, 8);
  return refuse(w->ctx, "%s: offset %llu of the word is not a multiple of 8; use one that is", call,
                static_cast<unsigned long long>(offset));
}

bool word_fits(const tutti_window* w, std::uint32_t rank, std::uint64_t offset) noexcept {
  return offset % 8 == 0 && w->memory->holds(rank, offset, 8);
}

bool known_flags(int flags) noexcept { return (flags & ~(TUTTI_ADD | TUTTI_AFTER_ALL)) == 0; }

[[gnu::cold]] tutti_status_t refuse_flags(tutti_context* ctx, const char* call, int flags) noexcept {
  return refuse(ctx, "%s: flags 0x%x has unknown bits; combine TUTTI_SET or TUTTI_ADD with TUTTI_AFTER_ALL", call,
                static_cast<unsigned>(flags));
}

rma_op describe(op_kind kind, const tutti_window* w, std::uint32_t rank, std::uint64_t offset, const void* local,
                std::uint64_t bytes) noexcept {
  rma_op op{};
  op.kind = kind;
  op.rank = w->memory->group().rank_of(rank);
  op.local_offset = reinterpret_cast<std::uintptr_t>(local);
  op.remote = w->memory->segment();
  op.remote_offset = offset;
  op.bytes = static_cast<std::uint32_t>(bytes);
  return op;
}

void set_signal(rma_op& op, const tutti_window* w, std::uint64_t offset, std::uint64_t value, int flags) noexcept {
  op.signal = w->memory->segment();
  op.signal_offset = offset;
  op.operand = value;
  op.how = flags & TUTTI_ADD ? signal_how::add : signal_how::set;
  op.order = flags & TUTTI_AFTER_ALL ? not_before::everything : not_before::payload;
}

// A full queue drains by progress; towards a dead peer it drains with errors.
[[gnu::cold]] status submit_slowly(tutti_context* ctx, const rma_op& op) noexcept {
  const wait_note note{"room in a queue", op.rank, 0, 0};
  return ctx->job->wait([&] { return ctx->job->net().submit({&op, 1}) == 1; }, [] { return status{}; }, note);
}

// A rank may do nothing but operations that are complete at once, upon memory that it maps, until a peer has done
// something: take a lock, say, whose holder needs this rank's progress to go on. So every few operations give some.
constexpr std::uint32_t operations_between_progress = 32;

status post(tutti_context* ctx, const rma_op& op) noexcept {
  if (ctx->peers_need_progress && ++ctx->operations % operations_between_progress == 0) ctx->job->progress();
  if (ctx->job->net().submit({&op, 1}) == 1) [[likely]] return {};
  return submit_slowly(ctx, op);
}

// Puts and gets longer than one operation may be, in pieces; what is left, the last piece, is the caller's.
[[gnu::cold]] status post_pieces(tutti_context* ctx, rma_op& op, std::uint64_t& bytes) noexcept {
  const op_kind last = op.kind;
  if (last == op_kind::put_signal) op.kind = op_kind::put;
  for (; bytes > ctx->piece; bytes -= ctx->piece) {
    op.bytes = static_cast<std::uint32_t>(ctx->piece);
    if (status s = post(ctx, op); s.failed()) return s;
    op.local_offset += ctx->piece;
    op.remote_offset += ctx->piece;
  }
  op.kind = last;
  op.bytes = static_cast<std::uint32_t>(bytes);
  op.order = not_before::everything;  // the signal waits for all pieces
  return {};
}

// Who counts an operation that has no request.
struct counted_by {
  implicit_operations* window = nullptr;  // null: the transport does
  std::uint32_t rank = 0;
  bool releases = false;                  // puts that are held go first: of signals
};

// Gives the operation its request, or its place in a count where it has none, and sends it off.
tutti_status_t launch(tutti_context* ctx, const char* call, rma_op& op, std::uint64_t bytes, counted_by count,
                      tutti_request_t* request) noexcept {
  if (count.releases)
    if (status s = ctx->puts.release(); s.failed()) [[unlikely]] return report(ctx, s.during(call));
  request_slot* slot = nullptr;
  if (!request) {
    if (count.window) {
      op.done = count.window->towards(count.rank, ctx, ctx->requests);
      if (!op.done) [[unlikely]] return out_of_memory(ctx, call);
    }
  } else {
    slot = ctx->requests.take(ctx);
    if (!slot) [[unlikely]] return out_of_memory(ctx, call);
    op.done = &slot->done;
  }
  status s;
  if (bytes > ctx->piece) [[unlikely]] s = post_pieces(ctx, op, bytes);
  if (s.ok()) s = post(ctx, op);
  if (s.failed()) [[unlikely]] {
    if (slot) ctx->requests.abandon(slot);  // pieces may be in flight
    return report(ctx, s.during(call));
  }
  if (slot) *request = {slot, slot->ticket};
  return TUTTI_OK;
}

tutti_status_t atomic(op_kind kind, const char* call, tutti_window_t handle, std::uint32_t rank, std::uint64_t offset,
                      std::uint64_t expected, std::uint64_t value, std::uint64_t* old,
                      tutti_request_t* request) noexcept {
  const use window(handle, call, by_handlers_too);
  if (!window) [[unlikely]] return window.refuse("the window");
  tutti_window* w = window.get();
  tutti_context* ctx = w->ctx;
  if (!word_fits(w, rank, offset)) [[unlikely]] return refuse_word(w, call, rank, offset);
  if (!old) [[unlikely]] return refuse_null(ctx, call, "old, where the value before goes,");
  rma_op op = describe(kind, w, rank, offset, old, 0);
  op.operand = value;
  if (kind == op_kind::compare_swap) op.expected = expected;
  return launch(ctx, call, op, 0, {&w->implicit, rank}, request);
}

}  // namespace

tutti_status_t tutti_put(tutti_window_t handle, uint32_t rank, uint64_t offset, const void* source, size_t bytes,
                         tutti_request_t* request) {
  constexpr const char* call = "tutti_put";
  const use held(handle, call, by_handlers_too);
  if (!held) [[unlikely]] return held.refuse("the window");
  tutti_window* window = held.get();
  tutti_context* ctx = window->ctx;
  if (!window->memory->holds(rank, offset, bytes)) [[unlikely]] return refuse_place(window, call, rank, offset, bytes);
  if (!source && bytes > 0) [[unlikely]] return refuse_null(ctx, call, "source");
  if (!request && ctx->puts.take(window, rank, offset, source, bytes)) return TUTTI_OK;
  rma_op op = describe(op_kind::put, window, rank, offset, source, bytes);
  return launch(ctx, call, op, bytes, {}, request);
}

tutti_status_t tutti_get(tutti_window_t handle, uint32_t rank, uint64_t offset, void* target, size_t bytes,
                         tutti_request_t* request) {
  constexpr const char* call = "tutti_get";
  const use held(handle, call, by_handlers_too);
  if (!held) [[unlikely]] return held.refuse("the window");
  tutti_window* window = held.get();
  tutti_context* ctx = window->ctx;
  if (!window->memory->holds(rank, offset, bytes)) [[unlikely]] return refuse_place(window, call, rank, offset, bytes);
  if (!target && bytes > 0) [[unlikely]] return refuse_null(ctx, call, "target");
  rma_op op = describe(op_kind::get, window, rank, offset, target, bytes);
  return launch(ctx, call, op, bytes, {&window->implicit, rank}, request);
}

tutti_status_t tutti_signal(tutti_window_t handle, uint32_t rank, uint64_t offset, uint64_t value, int flags) {
  constexpr const char* call = "tutti_signal";
  const use held(handle, call, by_handlers_too);
  if (!held) [[unlikely]] return held.refuse("the window");
  tutti_window* window = held.get();
  if (!word_fits(window, rank, offset)) [[unlikely]] return refuse_word(window, call, rank, offset);
  if (!known_flags(flags)) [[unlikely]] return refuse_flags(window->ctx, call, flags);
  rma_op op = describe(op_kind::signal, window, rank, 0, nullptr, 0);
  set_signal(op, window, offset, value, flags);
  return launch(window->ctx, call, op, 0, {.releases = true}, nullptr);
}

tutti_status_t tutti_put_signal(tutti_window_t handle, uint32_t rank, uint64_t offset, const void* source, size_t bytes,
                                tutti_window_t signal_handle, uint64_t signal_offset, uint64_t value, int flags,
                                tutti_request_t* request) {
  constexpr const char* call = "tutti_put_signal";
  const use held(handle, call, by_handlers_too);
  if (!held) [[unlikely]] return held.refuse("the window");
  tutti_window* window = held.get();
  tutti_context* ctx = window->ctx;
  tutti_window* signal_window = find(signal_handle);
  if (!signal_window) [[unlikely]] {
    if (!signal_handle) return refuse_null(ctx, call, "signal_window");
    return refuse(ctx, "%s: signal_window was freed before, or is none", call);
  }
  if (!window->memory->holds(rank, offset, bytes)) [[unlikely]] return refuse_place(window, call, rank, offset, bytes);
  if (signal_window->team != window->team) [[unlikely]]
    return refuse(ctx, "%s: the windows of data and signal belong to different teams; use windows of one team", call);
  if (!word_fits(signal_window, rank, signal_offset)) [[unlikely]]
    return refuse_word(signal_window, call, rank, signal_offset);
  if (!known_flags(flags)) [[unlikely]] return refuse_flags(ctx, call, flags);
  if (!source && bytes > 0) [[unlikely]] return refuse_null(ctx, call, "source");
  rma_op op = describe(op_kind::put_signal, window, rank, offset, source, bytes);
  set_signal(op, signal_window, signal_offset, value, flags);
  return launch(ctx, call, op, bytes, {.releases = true}, request);
}

tutti_status_t tutti_fetch_add(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value, uint64_t* old,
                               tutti_request_t* request) {
  return atomic(op_kind::fetch_add, "tutti_fetch_add", window, rank, offset, 0, value, old, request);
}

tutti_status_t tutti_swap(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t value, uint64_t* old,
                          tutti_request_t* request) {
  return atomic(op_kind::swap, "tutti_swap", window, rank, offset, 0, value, old, request);
}

tutti_status_t tutti_compare_swap(tutti_window_t window, uint32_t rank, uint64_t offset, uint64_t expected,
                                  uint64_t value, uint64_t* old, tutti_request_t* request) {
  return atomic(op_kind::compare_swap, "tutti_compare_swap", window, rank, offset, expected, value, old, request);
}
