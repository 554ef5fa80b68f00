#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

// While other members may have the window already: tutti_team::making_window.
class making {
 public:
  explicit making(tutti_team& t) noexcept : team_(t) { team_.making_window = true; }
  ~making() { team_.making_window = false; }
  making(const making&) = delete;
  making& operator=(const making&) = delete;

 private:
  tutti_team& team_;
};

tutti_status_t open_window(tutti_team* team, window::part mine, const char* call, void** base, tutti_window_t* out) {
  tutti_context* ctx = team->ctx;
  return guarded(ctx, call, [&] { return team->comm->with_the_others([&] {
    auto w = make_owned<tutti_window>();
    ctx->windows.reserve(ctx->windows.size() + 1);
    w->ctx = ctx, w->team = team, w->number = ++team->windows_made, w->allocated = !mine.base;
    (void)team->comm->enter(call_kind::window_create);
    auto made = [&] {
      const making m(*team);
      return window::open(team->group(), mine);
    }();
    if (!made) return report(ctx, made.error().during(call));
    w->memory = std::move(*made);
    if (base) *base = w->memory->base();
    *out = handle_of(w.get());
    if (ctx->messages) tell_messages(*w);
    ctx->windows.push_back(std::move(w));
    return TUTTI_OK;
  }); });
}

// Asynchronous, msync() writes nothing back; it looks whether all of the pages are mapped.
bool is_mapped(void* base, size_t bytes) noexcept {
  if (bytes == 0) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(base), page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  if (bytes > UINTPTR_MAX - first) return false;
  return msync(reinterpret_cast<void*>(first / page * page), bytes + first % page, MS_ASYNC) == 0 || errno != ENOMEM;
}

tutti_status_t check(tutti_team* team, size_t bytes, tutti_window_t* window, const char* call) noexcept {
  if (!window) return refuse_null(team->ctx, call, "window, where the new window goes,");
  if (bytes > PTRDIFF_MAX)
    return refuse(team->ctx, "%s: bytes is %td, or beyond what a process can address; use 0 or more", call,
                  static_cast<std::ptrdiff_t>(bytes));
  return TUTTI_OK;
}

}  // namespace

void api::tell_messages(tutti_window& w) noexcept {
  window& m = *w.memory;
  if (m.base()) w.ctx->messages->by_tag().expose({m.base(), m.size_of(m.group().index())}, m.region(), w.allocated);
}

tutti_status_t tutti_window_create(tutti_team_t handle, size_t bytes, void** base, tutti_window_t* window) {
  const use held(handle, "tutti_window_create");
  if (!held) return held.refuse("the team");
  tutti_team* team = held.get();
  if (auto bad = check(team, bytes, window, "tutti_window_create"); bad != TUTTI_OK) return bad;
  return open_window(team, {nullptr, bytes}, "tutti_window_create", base, window);
}

tutti_status_t tutti_window_over(tutti_team_t handle, void* base, size_t bytes, tutti_window_t* window) {
  const use held(handle, "tutti_window_over");
  if (!held) return held.refuse("the team");
  tutti_team* team = held.get();
  if (auto bad = check(team, bytes, window, "tutti_window_over"); bad != TUTTI_OK) return bad;
  if (!base && bytes > 0)
    return refuse(team->ctx, "tutti_window_over: base is NULL but bytes is %zu; pass memory, or 0 bytes", bytes);
  if (reinterpret_cast<std::uintptr_t>(base) % 8 != 0)
    return refuse(team->ctx, "tutti_window_over: base %p is not aligned to 8 bytes; signals and atomics need that", base);
  if (!is_mapped(base, bytes))
    return refuse(team->ctx, "tutti_window_over: not all of the %zu bytes from %p are memory of this process; pass memory that is, and stays", bytes, base);
  return open_window(team, {static_cast<std::byte*>(base), bytes}, "tutti_window_over", nullptr, window);
}

tutti_status_t tutti_window_free(tutti_window_t* window) {
  if (!window) return refuse_null(nullptr, "tutti_window_free", "window");
  if (!*window) return TUTTI_OK;
  const use held(*window, "tutti_window_free");
  if (!held) return held.refuse("the window");
  tutti_window* w = held.get();
  tutti_context* ctx = w->ctx;
  return guarded(ctx, "tutti_window_free", [&] {
    (void)ctx->puts.release();
    ctx->puts.forget(w);
    (void)w->team->comm->enter(call_kind::window_free);
    const status s = w->memory->close();
    if (ctx->messages && w->memory->base()) ctx->messages->by_tag().conceal(w->memory->region());
    ctx->job->drop_idle_attachments();  // of the members' parts, which messages have read or written
    w->implicit.release(ctx->requests);
    *window = nullptr;
    const resting agreed{ctx->job->net(), s.ok()};
    std::erase_if(ctx->windows, [&](auto& p) { return p.get() == w; });
    return finish(ctx, s.during("tutti_window_free"));
  });
}

void* tutti_window_base(tutti_window_t handle) {
  tutti_window* window = find(handle);
  return window ? window->memory->base() : nullptr;
}

size_t tutti_window_size(tutti_window_t handle, uint32_t rank) {
  tutti_window* window = find(handle);
  return window && rank < window->memory->group().size() ? window->memory->size_of(rank) : 0;
}

tutti_team_t tutti_window_team(tutti_window_t handle) {
  tutti_window* window = find(handle);
  return window ? handle_of(window->team) : nullptr;
}
