// Which message goes to which receive: the pure part of tagged messages. A posted receive names a team, a source or any, and a tag
// under a mask. A message takes the oldest posted receive that matches it, or else waits as an arrival; a receive takes the oldest
// arrival that matches it, or else is posted. So no posted receive ever matches an arrival that waits.
//
// Structure. A bin holds, in their order, the posted receives and the arrivals of one key: (team, source, tag) for receives
// of a whole tag from one source; (team, any, tag) for those from any; and (team), where arrivals alone stand. Bins are found by a hash table with
// chains. An arrival stands in all three of its bins, in each in the order of arrival. Receives with other masks stand in one list, in
// order. Every receive has a number, by which the older one of two lists is known.
//
// Cost. With whole tags a match is a look at one or two bins, whatever the number of receives and arrivals. Another mask costs a look
// at each arrival of the team; each arriving message a look at each receive of another mask. Bins are kept for reuse when they are empty, and the
// hash table grows by doubling: the steady state allocates nothing, and nothing here fails once room was made (make_room()).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/status.h"

namespace tutti::messaging {

struct matching_bin;

struct posted_receive {
  std::uint64_t team = 0, tag = 0, mask = ~std::uint64_t{0};
  rank_t source = no_rank;  // job rank; no_rank: any
  std::uint64_t number = 0; // of all posted, in order
  matching_bin* bin = nullptr;  // null: not posted, or in the list of other masks
  posted_receive *before = nullptr, *after = nullptr;
  bool posted = false;
};

struct arrival {
  std::uint64_t team = 0, tag = 0;
  rank_t source = no_rank;
  bool waits = false;
  struct place {
    matching_bin* bin = nullptr;
    arrival *before = nullptr, *after = nullptr;
  };
  place places[3];  // by source and tag; by tag; by team
};

struct matching_bin {
  std::uint64_t team = 0, tag = 0;
  rank_t source = no_rank;
  std::uint32_t hash = 0;
  posted_receive *first_posted = nullptr, *last_posted = nullptr;
  arrival *first_arrival = nullptr, *last_arrival = nullptr;
  matching_bin* next = nullptr;  // in its chain, or of the free ones
};

class matching {
 public:
  matching() = default;
  matching(const matching&) = delete;
  matching& operator=(const matching&) = delete;

  // Makes room for one more receive and one more arrival. False: out of memory; nothing changed.
  [[nodiscard]] bool make_room() noexcept {
    return (spare_bins_ >= 3 || add_bins()) && (bins_in_use_ + 3 <= buckets_ || grow());
  }

  // The oldest posted receive that a message matches, taken out; or null.
  posted_receive* take_posted(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept {
    if (posted_ == 0) return nullptr;
    return take_posted_slowly(team, source, tag);
  }
  void post(posted_receive&) noexcept;            // after make_room()
  void withdraw(posted_receive&) noexcept;        // one that is posted

  // The oldest arrival that a receive matches, left where it is; or null.
  arrival* find_arrival(std::uint64_t team, rank_t source, std::uint64_t tag, std::uint64_t mask) noexcept {
    if (arrivals_ == 0) return nullptr;
    return find_arrival_slowly(team, source, tag, mask);
  }
  void enter(arrival&) noexcept;                  // after make_room()
  void remove(arrival&) noexcept;                 // one that waits
  arrival* first_of_team(std::uint64_t team) noexcept { return find_arrival(team, no_rank, 0, 0); }

  std::size_t posted() const noexcept { return posted_; }
  std::size_t posted_from_any() const noexcept { return posted_any_; }
  std::size_t arrivals() const noexcept { return arrivals_; }
  template <class F>
  void each_posted(F&& f) noexcept {  // in no order; `f` may withdraw the one that it is given
    for (posted_receive *p = first_masked_, *next; p; p = next) next = p->after, f(*p);
    for (std::size_t b = 0; b < buckets_; ++b)
      for (matching_bin *bin = table_[b], *following; bin; bin = following) {
        following = bin->next;
        for (posted_receive *p = bin->first_posted, *next; p; p = next) next = p->after, f(*p);
      }
  }

 private:
  static constexpr std::uint64_t whole = ~std::uint64_t{0};
  static constexpr rank_t all_sources = no_rank - 1;  // as the source of a team's bin
  static std::uint32_t hash_of(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept {
    std::uint64_t h = (team ^ (std::uint64_t{source} << 29)) * 0x9e3779b97f4a7c15u + tag;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return static_cast<std::uint32_t>(h >> 32);
  }
  matching_bin* find_bin(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept {
    if (buckets_ == 0) return nullptr;
    const std::uint32_t h = hash_of(team, source, tag);
    for (matching_bin* b = table_[h & (buckets_ - 1)]; b; b = b->next)
      if (b->hash == h && b->tag == tag && b->team == team && b->source == source) return b;
    return nullptr;
  }
  matching_bin& bin_of(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept;
  void drop_if_empty(matching_bin*) noexcept;
  void append(arrival&, unsigned place, matching_bin&) noexcept;
  posted_receive* take_posted_slowly(std::uint64_t team, rank_t source, std::uint64_t tag) noexcept;
  arrival* find_arrival_slowly(std::uint64_t team, rank_t source, std::uint64_t tag, std::uint64_t mask) noexcept;
  [[gnu::cold]] bool add_bins() noexcept;
  [[gnu::cold]] bool grow() noexcept;

  std::unique_ptr<matching_bin*[]> table_;
  std::size_t buckets_ = 0;  // a power of two
  std::size_t bins_in_use_ = 0, spare_bins_ = 0;
  matching_bin* free_ = nullptr;
  std::vector<std::unique_ptr<matching_bin[]>> slabs_;
  posted_receive *first_masked_ = nullptr, *last_masked_ = nullptr;
  std::size_t posted_ = 0, posted_any_ = 0, arrivals_ = 0;
  std::uint64_t next_number_ = 0;
};

}  // namespace tutti::messaging
