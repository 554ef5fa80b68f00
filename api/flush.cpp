// Remote completion: of a window towards one rank or all, and of everything.
#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

// What is to be completed: of one window and one rank of its team, of one window, or of all windows.
struct extent {
  tutti_window* only = nullptr;      // null: all windows
  std::uint32_t rank = TUTTI_ALL;    // of the window's team
};

// Counts of gets and atomics without a request, walked through one after the other. One that is at zero stays so while
// its owner waits here (implicit.h), so none is looked at twice.
class landing {
 public:
  landing(tutti_context* ctx, extent what) noexcept : ctx_(ctx), what_(what) {}

  bool complete() noexcept {
    for (; window_ < windows(); ++window_, place_ = 0)
      for (implicit_operations& ops = at(window_); place_ < end(ops); ++place_)
        if (!ops.idle(first(ops) + place_)) return false;
    return true;
  }

  // The first error found, once complete() said so. All are told by this.
  status take_outcome() const noexcept {
    status found;
    for (std::size_t w = 0; w < windows(); ++w) {
      implicit_operations& ops = at(w);
      for (std::size_t i = 0; i < end(ops); ++i)
        if (status s = ops.take_outcome(first(ops) + i); s.failed() && found.ok()) found = std::move(s);
    }
    return found;
  }

 private:
  std::size_t windows() const noexcept { return what_.only ? 1 : ctx_->windows.size(); }
  implicit_operations& at(std::size_t w) const noexcept {
    return what_.only ? what_.only->implicit : ctx_->windows[w]->implicit;
  }
  // Of one window, the counts that are meant: `end` of them from `first` on.
  std::size_t first(const implicit_operations& ops) const noexcept {
    return what_.rank == TUTTI_ALL ? 0 : ops.place_of(what_.rank);
  }
  std::size_t end(const implicit_operations& ops) const noexcept {
    return what_.rank == TUTTI_ALL ? ops.used() : ops.place_of(what_.rank) < ops.used();
  }

  tutti_context* ctx_;
  extent what_;
  std::size_t window_ = 0, place_ = 0;
};

// What is waited for outlives a timeout in its slot. A flush that timed out has told of no operation: their errors stay
// for the next one.
status flush(tutti_context* ctx, request_slot* slot, rank_t peer, extent what, time_point deadline) {
  job& j = *ctx->job;
  bool offered = false;
  landing here(ctx, what);
  auto ready = [&] {
    return (offered || (offered = j.net().flush(peer, &slot->done))) && slot->done.idle() && here.complete();
  };
  const auto tell = [&] { return std::string("a flush of what was begun towards ") + (peer == no_rank ? "all" : "rank " + std::to_string(peer)); };
  const function_ref<std::string> words(tell);
  status s = j.wait(ready, [] { return status{}; }, wait_note{"flush", peer, 0, 0, &words, false}, deadline);
  if (s.ok()) {
    s = slot->done.outcome();
    if (status landed = here.take_outcome(); s.ok()) s = std::move(landed);
  }
  if (slot->done.idle()) ctx->requests.give(slot);
  else ctx->requests.abandon(slot);
  return s;
}

tutti_status_t complete_all(tutti_context* ctx, const char* call, rank_t peer, extent what, double timeout_s) noexcept {
  time_point deadline;
  if (!deadline_in(*ctx->job, timeout_s, deadline)) return refuse(ctx, "%s: timeout_s is not a number", call);
  return guarded(ctx, call, [&] {
    if (status s = ctx->puts.release(); s.failed()) return report(ctx, s.during(call));
    request_slot* slot = ctx->requests.take(ctx);
    if (!slot) return out_of_memory(ctx, call);
    const status s = flush(ctx, slot, peer, what, deadline);
    if (s.ok()) [[likely]] return TUTTI_OK;
    return report(ctx, s.during(call));
  });
}

}  // namespace

tutti_status_t tutti_flush(tutti_window_t handle, uint32_t rank, double timeout_s) {
  const use window(handle, "tutti_flush");
  if (!window) return window.refuse("the window");
  team& t = window->memory->group();
  if (rank != TUTTI_ALL && rank >= t.size())
    return refuse(window->ctx, "tutti_flush: rank %u is not in the window's team of %u; use 0 to %u, or TUTTI_ALL", rank,
                  t.size(), t.size() - 1);
  return complete_all(window->ctx, "tutti_flush", rank == TUTTI_ALL ? no_rank : t.rank_of(rank), {window.get(), rank},
                      timeout_s);
}

tutti_status_t tutti_quiet(tutti_t handle, double timeout_s) {
  const use ctx(handle, "tutti_quiet");
  if (!ctx) return ctx.refuse("ctx");
  return complete_all(ctx.get(), "tutti_quiet", no_rank, {}, timeout_s);
}
