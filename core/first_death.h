// Who of a group died, for those who wait for it.
#pragma once
#include "core/rank_map.h"
#include "core/transport.h"

namespace tutti {

// Success, or the trouble of a member. Who left in good order counts only if it is `awaited` itself, and a death before
// that: it may be why it left. `health` is transport::health() or the like.
template <class Health>
status first_death(const rank_map& members, rank_t self, rank_t awaited, const Health& health) {
  status left;
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const rank_t r = members[i];
    if (r == self) continue;
    status s = health(r);
    if (!s.ok() && s.native() != peer_left) return s;
    if (r == awaited) left = std::move(s);
  }
  return left;
}

}  // namespace tutti
