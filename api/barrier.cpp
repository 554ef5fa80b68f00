#include "api/context.h"

using namespace tutti;
using namespace tutti::api;

tutti_status_t tutti_barrier(tutti_team_t team) {
  if (!team) [[unlikely]] return refuse_null(nullptr, "tutti_barrier", "the team");
  return finish(team->ctx, team->comm->barrier().enter());
}

tutti_status_t tutti_ibarrier(tutti_team_t team, tutti_request_t* request) {
  if (!team) [[unlikely]] return refuse_null(nullptr, "tutti_ibarrier", "the team");
  if (!request) [[unlikely]] return refuse_null(team->ctx, "tutti_ibarrier", "request");
  team_barrier& b = team->comm->barrier();
  if (!b.outcome().ok()) [[unlikely]] return report(team->ctx, b.outcome());
  request_slot* slot = team->ctx->requests.take(team->ctx);
  if (!slot) [[unlikely]] return out_of_memory(team->ctx, "tutti_ibarrier");
  slot->barrier = team;
  slot->epoch = b.start();
  *request = {slot, slot->ticket};
  return TUTTI_OK;
}
