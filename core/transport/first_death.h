// Which of several ranks died, for a wait that depends on them.
#pragma once
#include <utility>

#include "core/base/rank_map.h"
#include "core/transport/transport.h"

namespace tutti {

// Asks for the health of one rank at a time. A death ends the search. The orderly leave of the awaited rank counts only where
// nobody has died, since that rank may have left because another one died; other leaves do not count. `health` is
// transport::health() or the like, and is kept by reference.
template <class Health>
class first_death {
 public:
  first_death(rank_t awaited, const Health& health) noexcept : awaited_(awaited), health_(health) {}

  // True: this rank has died, and no other need be asked.
  bool found(rank_t r) {
    status s = health_(r);
    if (s.ok()) return false;
    const bool left = s.native() == peer_left;
    if (!left || r == awaited_) told_ = std::move(s);
    return !left;
  }
  // Success, or the error to report.
  status told() && { return std::move(told_); }

 private:
  const rank_t awaited_;
  const Health& health_;
  status told_;
};

// The same over all members of a group except `self`.
template <class Health>
status trouble_of(const rank_map& members, rank_t self, rank_t awaited, const Health& health) {
  first_death search(awaited, health);
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (members[i] != self && search.found(members[i])) break;
  return std::move(search).told();
}

}  // namespace tutti
