// Memory of an engine: as many bytes in each member of a team, reached by all, and made with one exchange.
#pragma once
#include <vector>

#include "core/job/exposed_memory.h"
#include "core/job/team.h"

namespace tutti {

struct team_memory {
  exposed_memory memory;  // zeroed
  shared_blobs extras;    // what each member gave besides, by index
};

// Collective over the team, with as many bytes and the same agreement in all; a member that brings others ends it with
// `protocol`, named. All members get it or none: no_resource names one that has no room for
// it. Room: what a node's ranks ask for together is a quarter at most of what each of them finds free, so that none of them is
// killed for it later. A member that then cannot reach the others' has an error of its own, and breaks the team (team::fail).
resumable<result<team_memory>> expose_together(team&, std::size_t bytes, std::vector<std::byte> agreement,
                                               std::vector<std::byte> extra = {});

}  // namespace tutti
