// Joining and leaving a job, and who and where a rank is.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/options.h"
#include "api/use.h"
#include "core/transport/driven_transport.h"

using namespace tutti;
using namespace tutti::api;

namespace {

void locate(tutti_context& ctx) {
  const auto& node_of = ctx.job->where().node_of;
  ctx.node = node_of[ctx.job->rank()];
  const auto me = node_of.begin() + ctx.job->rank();
  ctx.local_rank = static_cast<std::uint32_t>(std::count(node_of.begin(), me, ctx.node));
  ctx.local_size = ctx.local_rank + static_cast<std::uint32_t>(std::count(me, node_of.end(), ctx.node));
}

void learn_limits(tutti_context& ctx) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;  // rma_op::bytes has 32 bits
  const capabilities& caps = ctx.job->net().caps();
  ctx.piece = caps.max_bytes ? std::min(caps.max_bytes, most) : most;
  ctx.peers_need_progress = wants_progress(caps) || caps.progress_thread;
}

status join(tutti_context& ctx, const tutti_options_t* options) {
  auto begin = read_options(options);
  if (!begin) return begin.error();
  job_options how = options_from(begin->settings);
  how.world_lines = communicator::world_lines, how.notice = std::move(begin->notice), how.idle = std::move(begin->idle);
  if (begin->unheard) how.launchers_file = begin->settings.launcher().ended;
  how.late.unheard = std::move(begin->unheard);
  communicator_options engines = communicator_options_from(begin->settings);
  choose_by_settings(begin->settings, how, engines);
  auto opened = job::open(std::move(begin->boot), begin->settings, std::move(how));
  if (!opened) return opened.error().during("tutti_init");
  ctx.job = std::move(*opened);
  auto world = communicator::world(*ctx.job, std::move(engines));
  if (!world) return world.error().during("tutti_init");
  ctx.world = make_owned<tutti_team>();
  ctx.world->ctx = &ctx;
  ctx.world->comm = std::move(*world);
  ctx.checked = begin->settings.number(knob::check) != 0;
  locate(ctx);
  learn_limits(ctx);
  ctx.puts.serve(&ctx);
  return {};
}

// Lets what was begun arrive, messages of which the program knows no more included. Bounded: some may be beyond hearing.
void drain(tutti_context& ctx) {
  job& j = *ctx.job;
  bool offered = false;
  auto ready = [&] {
    if (ctx.messages && ctx.messages->end().queues()) return false;
    return (offered || (offered = j.net().flush(no_rank, &ctx.farewell))) && ctx.farewell.idle();
  };
  const auto look = [&] {
    if (ctx.messages) ctx.messages->end().look();  // nothing goes to the dead any more
    return status{};
  };
  (void)j.wait(ready, look, wait_note{"leaving", no_rank, 0, 0}, j.net().now() + std::chrono::seconds(1));
}

// No rank may take its memory away while another may still reach for it, and a multicast root must answer for the last
// release until all have it: so everyone waits for everyone, by an exchange that needs no multicast. Where a rank died
// there is nothing to protect: its operations are over, and those of the living end with an error.
status leave(tutti_context& ctx) {
  job& j = *ctx.job;
  team& world = j.world();
  (void)ctx.world->comm->enter(call_kind::leave);
  status s = world.health();
  if (s.ok()) s = world.leave();
  if (s.failed()) drain(ctx);  // the news of the death, for the others
  return s;
}

// Tells all teams, by the way in which the news of a death goes round.
void tell(tutti_context& ctx) {
  const rank_t me = ctx.job->rank();
  const status gone(errc::peer_dead, worded("rank ", me, " abandoned the job"), me);
  for (auto& t : ctx.teams) t->group().fail(gone);
  ctx.job->world().fail(gone);
  drain(ctx);
}

}  // namespace

tutti_status_t tutti_init(const tutti_options_t* options, tutti_t* ctx) {
  if (!ctx) return refuse_null(nullptr, "tutti_init", "ctx, where the context goes,");
  return guarded(nullptr, "tutti_init", [&] {
    auto made = make_owned<tutti_context>();
    if (status s = join(*made, options); s.failed()) return report(nullptr, s);
    *ctx = handle_of(made.release());
    return TUTTI_OK;
  });
}

tutti_status_t tutti_finalize(tutti_t* ctx) {
  if (!ctx) return refuse_null(nullptr, "tutti_finalize", "ctx");
  if (!*ctx) return TUTTI_OK;
  use held(*ctx, "tutti_finalize");
  if (!held) return held.refuse("ctx");
  held.end_early();
  const owned<tutti_context> gone(held.get());
  *ctx = nullptr;
  return guarded(nullptr, "tutti_finalize", [&] {
    const status s = leave(*gone);
    return finish(nullptr, s.during("tutti_finalize"));
  });
}

tutti_status_t tutti_abandon(tutti_t* ctx) {
  if (!ctx) return refuse_null(nullptr, "tutti_abandon", "ctx");
  if (!*ctx) return TUTTI_OK;
  use held(*ctx, "tutti_abandon");
  if (!held) return held.refuse("ctx");
  held.end_early();
  const owned<tutti_context> gone(held.get());
  *ctx = nullptr;
  return guarded(nullptr, "tutti_abandon", [&] {
    tell(*gone);
    return TUTTI_OK;
  });
}

tutti_status_t tutti_progress(tutti_t handle) {
  const use ctx(handle, "tutti_progress");
  if (!ctx) return ctx.refuse("ctx");
  ctx->job->progress();
  if (!ctx->messages) return TUTTI_OK;
  ctx->messages->end().polled();
  return finish(ctx.get(), ctx->messages->active().trouble().during("tutti_progress"));
}

namespace {

// A constant of the context, or what is said of a handle that names none.
template <class T, class F>
T fact(tutti_t handle, T otherwise, F&& of) noexcept {
  tutti_context* ctx = find(handle);
  return ctx ? static_cast<T>(of(*ctx)) : otherwise;
}

}  // namespace

uint32_t tutti_rank(tutti_t ctx) { return fact(ctx, TUTTI_NO_RANK, [](auto& c) { return c.job->rank(); }); }
uint32_t tutti_size(tutti_t ctx) { return fact(ctx, 0u, [](auto& c) { return c.job->size(); }); }
uint32_t tutti_nodes(tutti_t ctx) { return fact(ctx, 0u, [](auto& c) { return c.job->where().nodes(); }); }
uint32_t tutti_local_rank(tutti_t ctx) { return fact(ctx, TUTTI_NO_RANK, [](auto& c) { return c.local_rank; }); }
uint32_t tutti_local_size(tutti_t ctx) { return fact(ctx, 0u, [](auto& c) { return c.local_size; }); }

const char* tutti_fabric(tutti_t ctx) {
  return fact<const char*>(ctx, nullptr, [](auto& c) { return c.job->fabric().c_str(); });
}

tutti_status_t tutti_capabilities(tutti_t handle, tutti_capabilities_t* out) {
  constexpr const char* call = "tutti_capabilities";
  const use ctx(handle, call, by_handlers_too);
  if (!ctx) [[unlikely]] return ctx.refuse("the context");
  if (!out) return refuse_null(ctx.get(), call, "out");
  constexpr std::size_t first_version = offsetof(tutti_capabilities_t, offload) + sizeof out->offload;
  const std::size_t given = out->struct_size;
  if (given < first_version)
    return refuse(ctx.get(), "%s: struct_size is %zu; set it to sizeof(tutti_capabilities_t), %zu", call, given, sizeof *out);
  transport& net = ctx->job->net();
  const capabilities& c = net.caps();
  const tutti_capabilities_t all{.struct_size = given,
                                 .max_bytes = ctx->piece,
                                 .target_must_progress = c.target_must_progress,
                                 .progress_thread = c.progress_thread,
                                 .native_signals = c.native_signal,
                                 .native_atomics = c.native_atomics,
                                 .native_over = c.native_when_added,
                                 .maps_node = c.maps_node,
                                 .cpu_atomics_agree = c.cpu_atomics_agree,
                                 .sleeps = c.can_sleep,
                                 .multicast = net.mcast() != nullptr,
                                 .offload = net.offloader() != nullptr};
  std::memset(out, 0, given);
  std::memcpy(out, &all, std::min(given, sizeof all));
  return TUTTI_OK;
}

uint32_t tutti_node_of(tutti_t ctx, uint32_t rank) {
  return fact(ctx, TUTTI_NO_RANK,
              [&](auto& c) { return rank < c.job->size() ? c.job->where().node_of[rank] : TUTTI_NO_RANK; });
}

tutti_team_t tutti_world(tutti_t ctx) {
  return fact<tutti_team_t>(ctx, nullptr, [](auto& c) { return handle_of(c.world.get()); });
}
