#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

tutti_status_t tutti_barrier(tutti_team_t handle) {
  const use team(handle, "tutti_barrier");
  if (!team) [[unlikely]] return team.refuse("the team");
  return finish(team->ctx, team->comm->barrier().enter());
}

tutti_status_t tutti_ibarrier(tutti_team_t handle, tutti_request_t* request) {
  const use team(handle, "tutti_ibarrier");
  if (!team) [[unlikely]] return team.refuse("the team");
  if (!request) [[unlikely]] return refuse_null(team->ctx, "tutti_ibarrier", "request");
  team_barrier& b = team->comm->barrier();
  if (b.outcome().failed()) [[unlikely]] return report(team->ctx, b.outcome());
  request_slot* slot = team->ctx->requests.take(team->ctx);
  if (!slot) [[unlikely]] return out_of_memory(team->ctx, "tutti_ibarrier");
  slot->of = &b, slot->number = b.start();
  *request = {slot, slot->ticket};
  return TUTTI_OK;
}
