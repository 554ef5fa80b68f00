// Puts and gets between layouts: checked, and handed to messaging/layout_transfer.
#include <utility>

#include "api/layout_argument.h"
#include "api/use.h"
#include "messaging/layout_transfer.h"

using namespace tutti;
using namespace tutti::api;

namespace {

struct arguments {
  std::uint32_t rank;
  std::uint64_t offset;
  const tutti_layout_t* remote;
  const void* base;
  const tutti_layout_t* local;
};

// Whether all bytes lie inside the member's part of the window.
bool inside(const window& m, std::uint32_t rank, std::uint64_t offset, const block_layout& l) noexcept {
  const auto low = static_cast<std::uint64_t>(l.low());
  if (rank >= m.group().size()) return false;
  if (l.low() < 0 ? offset < -low : offset + low < offset) return false;
  return m.holds(rank, offset + low, static_cast<std::uint64_t>(l.high()) - low);
}

status outside(const window& m, const arguments& a, const block_layout& there) {
  const std::uint32_t size = m.group().size();
  if (a.rank >= size)
    return {errc::invalid, worded("rank ", a.rank, " is not in the window's team of ", size, "; use 0 to ", size - 1)};
  return {errc::invalid, worded("remote lists bytes from ", there.low(), " to ", there.high(), " beyond offset ", a.offset,
                                ", which do not all lie in the window of rank ", a.rank, "; its bytes are 0 to ",
                                m.size_of(a.rank))};
}

status check(const window& m, const arguments& a, block_layout& here, block_layout& there) {
  auto remote = read_layout(a.remote, "remote");
  if (!remote) return remote.error();
  auto local = read_layout(a.local, "local");
  if (!local) return local.error();
  here = *local, there = *remote;
  if (!inside(m, a.rank, a.offset, there)) return outside(m, a, there);
  if (here.bytes() != there.bytes())
    return {errc::invalid, worded("remote lists ", there.bytes(), " bytes and local ", here.bytes(), "; both list the same data")};
  return check_base(here, *a.local, a.base, "base");
}

// As tutti_put() does: a rank that does nothing else gives its peers some progress all the same.
void serve_peers(tutti_context* ctx) noexcept {
  constexpr std::uint32_t calls_between = 32;
  if (ctx->peers_need_progress && ++ctx->operations % calls_between == 0) ctx->job->progress();
}

tutti_status_t move(op_kind kind, const char* call, tutti_window_t handle, const arguments& a, tutti_request_t* request) noexcept {
  const use window(handle, call, by_handlers_too);
  if (!window) [[unlikely]] return window.refuse("the window");
  tutti_window* w = window.get();
  tutti_context* ctx = w->ctx;
  return guarded(ctx, call, [&] {
    block_layout here, there;
    const tutti::window& m = *w->memory;
    if (status s = check(m, a, here, there); s.failed()) [[unlikely]] return report(ctx, s.during(call));
    request_slot* slot = request ? ctx->requests.take(ctx) : nullptr;
    completion* done = slot ? &slot->done : request ? nullptr : w->implicit.towards(a.rank, ctx, ctx->requests);
    if (!done) [[unlikely]] return out_of_memory(ctx, call);
    if (status s = ctx->puts.release(); s.failed()) [[unlikely]] {
      if (slot) ctx->requests.give(slot);
      return report(ctx, s.during(call));
    }
    const rank_t rank = m.group().rank_of(a.rank);
    serve_peers(ctx);
    const messaging::layout_transfer t{
        .kind = kind, .base = a.base, .here = &here, .rank = rank, .segment = m.segment(), .offset = a.offset, .there = &there,
        .mapped = a.rank == m.group().index() ? m.base() : ctx->job->net().map(m.segment(), rank),
        .owner = {.done = done, .ticket = slot ? &slot->ticket : nullptr, .issued = slot ? slot->ticket : 0},
        .most_bytes = ctx->piece, .give_progress = ctx->peers_need_progress};
    if (status s = messaging::transfer(*ctx->job, ctx->packing, t); s.failed()) [[unlikely]] {
      if (slot) ctx->requests.abandon(slot);
      return report(ctx, s.during(call));
    }
    if (slot) *request = {slot, slot->ticket};
    return TUTTI_OK;
  });
}

}  // namespace

tutti_status_t tutti_layout_bytes(tutti_t handle, const tutti_layout_t* layout, size_t* bytes) {
  constexpr const char* call = "tutti_layout_bytes";
  const use ctx(handle, call, by_handlers_too);
  if (!ctx) return ctx.refuse("ctx");
  if (!bytes) return refuse_null(ctx.get(), call, "bytes");
  return guarded(ctx.get(), call, [&] {
    const auto l = read_layout(layout, "layout");
    if (!l) return report(ctx.get(), l.error().during(call));
    *bytes = (*l).bytes();
    return TUTTI_OK;
  });
}

tutti_status_t tutti_put_layout(tutti_window_t window, uint32_t rank, uint64_t offset, const tutti_layout_t* remote,
                                const void* base, const tutti_layout_t* local, tutti_request_t* request) {
  return move(op_kind::put, "tutti_put_layout", window, {rank, offset, remote, base, local}, request);
}

tutti_status_t tutti_get_layout(tutti_window_t window, uint32_t rank, uint64_t offset, const tutti_layout_t* remote, void* base,
                                const tutti_layout_t* local, tutti_request_t* request) {
  return move(op_kind::get, "tutti_get_layout", window, {rank, offset, remote, base, local}, request);
}
