#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

namespace {

tutti_status_t check(tutti_team& team, uint32_t root, const void* data, size_t bytes, const char* call) {
  const std::uint32_t size = team.group().size();
  if (root >= size) return refuse(team.ctx, "%s: root %u is not in the team of %u; use 0 to %u", call, root, size, size - 1);
  return !data && bytes > 0 ? refuse_null(team.ctx, call, "data") : TUTTI_OK;
}

}  // namespace

tutti_status_t tutti_broadcast(tutti_team_t handle, uint32_t root, void* data, size_t bytes) {
  const use team(handle, "tutti_broadcast");
  if (!team) return team.refuse("the team");
  tutti_context* ctx = team->ctx;
  if (const auto refused = check(*team.get(), root, data, bytes, "tutti_broadcast"); refused != TUTTI_OK) return refused;
  return guarded(ctx, "tutti_broadcast", [&] {
    return finish(ctx, team->comm->broadcast(root, {static_cast<std::byte*>(data), bytes}).during("tutti_broadcast"));
  });
}

tutti_status_t tutti_ibroadcast(tutti_team_t handle, uint32_t root, void* data, size_t bytes, tutti_request_t* request) {
  const use team(handle, "tutti_ibroadcast");
  if (!team) return team.refuse("the team");
  tutti_context* ctx = team->ctx;
  if (!request) return refuse_null(ctx, "tutti_ibroadcast", "request");
  if (const auto refused = check(*team.get(), root, data, bytes, "tutti_ibroadcast"); refused != TUTTI_OK) return refused;
  return guarded(ctx, "tutti_ibroadcast", [&] {
    request_slot* const slot = ctx->requests.take(ctx);  // first: what is started cannot be taken back
    if (!slot) return out_of_memory(ctx, "tutti_ibroadcast");
    const auto number = team->comm->start({.root = root, .bytes = bytes, .out = static_cast<std::byte*>(data)});
    if (!number) {
      ctx->requests.give(slot);
      return report(ctx, number.error().during("tutti_ibroadcast"));
    }
    slot->of = &team->comm->data(), slot->number = *number;
    *request = {slot, slot->ticket};
    return TUTTI_OK;
  });
}
