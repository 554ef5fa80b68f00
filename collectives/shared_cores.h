// Ranks that share cores, in virtual time, as waits that yield make them run: each core lets its ranks look one after another,
// and whoever finds nothing passes it on. For the evaluator of schedules.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/cost.h"

namespace tutti {

class shared_cores {
 public:
  // The rank whose turn it is has the core from `when` on, unless that core's turns were planned anew since.
  struct visit {
    picoseconds when;
    std::uint32_t core;
    std::uint64_t plan;
  };

  // Where no two ranks share a core there are none. A node's ranks are dealt out to its cores, or stand on them in blocks: both
  // happen. What a team's members do not fill of ranks_per_core is ranks of other teams, which take a turn each and do nothing.
  shared_cores(std::uint32_t size, std::span<const std::uint32_t> node_of, const costs&, bool in_blocks);

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(cores_.size()); }
  visit first(std::uint32_t of_core) const noexcept { return {0, of_core, 0}; }
  // The rank that has the core now; none: that visit was planned otherwise since.
  std::optional<std::uint32_t> begin(const visit&) noexcept;
  // It has gone on as far as it could, until `now`; `moved`: further than it was. It looks once more then, and passes its core on
  // if nothing has come meanwhile. None: all have looked since something came for one of them.
  std::optional<visit> end(std::uint32_t of_core, bool moved, picoseconds now) noexcept;
  // Something has come for that rank now. Its next visit, if no planned one will find it.
  std::optional<visit> arrived(std::uint32_t rank, picoseconds now) noexcept;

 private:
  static constexpr picoseconds never = -1;

  struct core {
    std::vector<std::uint32_t> ranks;  // in the order in which they have it
    picoseconds turn = 0, others = 0;  // what one of them takes to look and pass it on; and all that are not of the team
    std::size_t at = 0;                // whose it is, or would be at `next`
    std::size_t fruitless = 0;         // looks since something came
    std::uint64_t plan = 0;
    bool idle = false;                 // nobody finds anything until something comes
    std::size_t woken = 0;             // who is the first to find something, at `wakes`
    picoseconds next = 0, wakes = never;
  };
  struct place {
    std::uint32_t core;
    std::size_t at;
  };

  std::vector<core> cores_;
  std::vector<place> place_;
};

}  // namespace tutti
