// Remote completion: of a window towards one rank or all, and of everything.
#include "api/context.h"

using namespace tutti;
using namespace tutti::api;

namespace {

// What is waited for outlives a timeout in its slot.
status flush(tutti_context* ctx, request_slot* slot, rank_t peer, tutti_window* only, time_point deadline) {
  job& j = *ctx->job;
  bool offered = false;
  auto landed = [&] {  // gets and atomics without a request
    if (only) return only->implicit->done.idle();
    for (auto& w : ctx->windows)
      if (!w->implicit->done.idle()) return false;
    return true;
  };
  auto ready = [&] {
    return (offered || (offered = j.net().flush(peer, &slot->done))) && slot->done.idle() && landed();
  };
  status s = j.wait(ready, [] { return status{}; }, wait_note{"flush", peer, 0, 0}, deadline);
  if (s.ok()) s = slot->done.outcome();
  auto collect = [&](tutti_window* w) {
    if (!w->implicit->done.idle()) return;
    if (s.ok()) s = w->implicit->done.outcome();
    w->implicit->done.clear();
  };
  if (only) collect(only);
  else
    for (auto& w : ctx->windows) collect(w.get());
  if (slot->done.idle()) ctx->requests.give(slot);
  else ctx->requests.abandon(slot);
  return s;
}

tutti_status_t complete_all(tutti_context* ctx, const char* call, rank_t peer, tutti_window* only, double timeout_s) noexcept {
  time_point deadline;
  if (!deadline_in(*ctx->job, timeout_s, deadline)) return refuse(ctx, "%s: timeout_s is not a number", call);
  return guarded(ctx, call, [&] {
    request_slot* slot = ctx->requests.take(ctx);
    if (!slot) return out_of_memory(ctx, call);
    const status s = flush(ctx, slot, peer, only, deadline);
    if (s.ok()) [[likely]] return TUTTI_OK;
    return report(ctx, s.during(call));
  });
}

}  // namespace

tutti_status_t tutti_flush(tutti_window_t window, uint32_t rank, double timeout_s) {
  if (!window) return refuse_null(nullptr, "tutti_flush", "the window");
  team& t = window->memory->group();
  if (rank != TUTTI_ALL && rank >= t.size())
    return refuse(window->ctx, "tutti_flush: rank %u is not in the window's team of %u; use 0 to %u, or TUTTI_ALL", rank,
                  t.size(), t.size() - 1);
  return complete_all(window->ctx, "tutti_flush", rank == TUTTI_ALL ? no_rank : t.rank_of(rank), window, timeout_s);
}

tutti_status_t tutti_quiet(tutti_t ctx, double timeout_s) {
  if (!ctx) return refuse_null(nullptr, "tutti_quiet", "ctx");
  return complete_all(ctx, "tutti_quiet", no_rank, nullptr, timeout_s);
}
