// The teams of one rank by their numbers (team::id()), for what names a team in a message: it may be one that lives here, one that is
// still being made here, or one that was freed. The world has the number 0 and is not in the book.
//
// A number is the job rank of the team's member 0, its leader, with a count of that rank's. Making a team blocks in each member until
// all have come to it, and a leader counts upwards: so the teams of one leader that this rank is in are made here in the order of
// their counts. A number that is not in the book therefore belongs to a team that is yet to be made if its count is above the last
// one seen of that leader, and else to one that was freed, or that this rank was never in.
//
// Memory: 16 bytes a team that lives, and 8 bytes for each rank that has ever been a leader here; a lookup is a binary search.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/status.h"

namespace tutti {

class team;

class team_book {
 public:
  static constexpr rank_t leader_of(std::uint64_t id) noexcept { return static_cast<rank_t>(id >> 32); }
  static constexpr std::uint32_t count_of(std::uint64_t id) noexcept { return static_cast<std::uint32_t>(id); }

  std::uint64_t next_id(rank_t me) noexcept { return std::uint64_t{me} << 32 | ++count_; }

  void enter(std::uint64_t id, team& t) {
    living_.reserve(living_.size() + 1);
    leaders_.reserve(leaders_.size() + 1);
    if (const auto at = leader(leader_of(id)); at != leaders_.end() && at->rank == leader_of(id)) at->last = std::max(at->last, count_of(id));
    else leaders_.insert(at, {leader_of(id), count_of(id)});
    living_.insert(place(id), {id, &t});
  }
  void remove(std::uint64_t id) noexcept {
    if (const auto at = place(id); at != living_.end() && at->id == id) living_.erase(at);
  }
  team* find(std::uint64_t id) noexcept {
    const auto at = place(id);
    return at != living_.end() && at->id == id ? at->here : nullptr;
  }
  // Whether a team of this number may yet be made here; not the world's, nor one that lives.
  bool yet_to_come(std::uint64_t id) noexcept {
    const auto at = leader(leader_of(id));
    return at == leaders_.end() || at->rank != leader_of(id) || count_of(id) > at->last;
  }

 private:
  struct entry {
    std::uint64_t id;
    team* here;
  };
  struct leading {
    rank_t rank;
    std::uint32_t last;
  };
  std::vector<entry>::iterator place(std::uint64_t id) noexcept {
    return std::lower_bound(living_.begin(), living_.end(), id, [](const entry& e, std::uint64_t i) { return e.id < i; });
  }
  std::vector<leading>::iterator leader(rank_t r) noexcept {
    return std::lower_bound(leaders_.begin(), leaders_.end(), r, [](const leading& l, rank_t i) { return l.rank < i; });
  }

  std::uint32_t count_ = 0;  // of teams that this rank leads; the first is 1, so none has the number of the world
  std::vector<entry> living_;
  std::vector<leading> leaders_;
};

}  // namespace tutti
