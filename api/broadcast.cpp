#include "api/use.h"

using namespace tutti;
using namespace tutti::api;

tutti_status_t tutti_broadcast(tutti_team_t handle, uint32_t root, void* data, size_t bytes) {
  const use team(handle, "tutti_broadcast");
  if (!team) return team.refuse("the team");
  tutti_context* ctx = team->ctx;
  const std::uint32_t size = team->group().size();
  if (root >= size)
    return refuse(ctx, "tutti_broadcast: root %u is not in the team of %u; use 0 to %u", root, size, size - 1);
  if (!data && bytes > 0) return refuse_null(ctx, "tutti_broadcast", "data");
  return guarded(ctx, "tutti_broadcast", [&] {
    return finish(ctx, team->comm->broadcast(root, {static_cast<std::byte*>(data), bytes}).during("tutti_broadcast"));
  });
}
