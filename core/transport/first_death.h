// Who of several ranks died, for those who wait for one of them.
#pragma once
#include <utility>

#include "core/base/rank_map.h"
#include "core/transport/transport.h"

namespace tutti {

// Asks after one rank at a time, and ranks what it is told: a death ends the search; the awaited rank's departure in good
// order counts where nobody has died, for it may have left because another died; other departures do not count.
// `health` is transport::health() or the like, and is kept by reference.
template <class Health>
class first_death {
 public:
  first_death(rank_t awaited, const Health& health) noexcept : awaited_(awaited), health_(health) {}

  // True: a rank has died, and no more need be asked.
  bool found(rank_t r) {
    status s = health_(r);
    if (s.ok()) return false;
    const bool left = s.native() == peer_left;
    if (!left || r == awaited_) told_ = std::move(s);
    return !left;
  }
  // Success, or what is to be told.
  status told() && { return std::move(told_); }

 private:
  const rank_t awaited_;
  const Health& health_;
  status told_;
};

// Of all members of a group but this one.
template <class Health>
status trouble_of(const rank_map& members, rank_t self, rank_t awaited, const Health& health) {
  first_death search(awaited, health);
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (members[i] != self && search.found(members[i])) break;
  return std::move(search).told();
}

}  // namespace tutti
