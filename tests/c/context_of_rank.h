// The C API upon ranks that the harness runs: contexts are made here, not by tutti_init().
#pragma once
#include "api/context.h"
#include "tests/collectives/job_env.h"

namespace tutti::test {

inline api::owned<tutti_context> make_context(rank_env& env, communicator_options options = {}) {
  auto ctx = api::make_owned<tutti_context>();
  ctx->job.reset(open_job(env).release());
  ctx->world = api::make_owned<tutti_team>();
  ctx->world->ctx = ctx.get();
  ctx->world->comm = take(communicator::world(*ctx->job, std::move(options)), "world");
  ctx->piece = std::uint64_t{1} << 20;
  ctx->peers_need_progress = true;
  ctx->puts.serve(ctx.get());
  return ctx;
}

inline void expect(tutti_context& ctx, tutti_status_t got, tutti_status_t wanted, where at = where::current()) {
  if (got != wanted) fail(std::string(tutti_strstatus(got)) + ", wanted " + tutti_strstatus(wanted) + ": " +
                              tutti_error_text(api::handle_of(&ctx)), at);
}

}  // namespace tutti::test
