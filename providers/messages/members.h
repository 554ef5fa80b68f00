// Segments: what this rank knows of its peers' regions, and how it reaches them. Its own regions: regions.h.
#pragma once
#include "providers/common/segment_table.h"
#include "providers/messages/link.h"
#include "providers/messages/peer.h"
#include "providers/messages/regions.h"

namespace tutti::messages {

struct member {                // of a segment
  std::byte* mapped = nullptr;
  void* key = nullptr;         // the link's
  peer* unlocked_by = nullptr; // whose key it is
  std::uint64_t bytes = 0;
  mapping foreign;             // what is to be unmapped: not this rank's own
  std::uint32_t region = 0;
  bool resolved = false;       // mapping was tried
  bool absent = true;          // exposes nothing, or was detached
};

class member_table {
 public:
  explicit member_table(region_table& regions) noexcept : regions_(regions) {}
  void open(one_sided* reach, rank_t self) noexcept { reach_ = reach, self_ = self; }

  result<segment_id> attach(const rank_map&, shared_blobs keys, std::uint32_t job_size, const char* provider);
  void drop(segment_id) noexcept;
  void drop_all() noexcept;
  void forget_region(region_id) noexcept;  // this rank's part of all segments that name it

  member& find(segment_id id, rank_t rank) noexcept {  // absent where there is none
    member* const m = segments_.find(id, rank);
    return m ? *m : nobody_;
  }
  // Tried once, at the first operation upon it; `p`, the member's rank, has an endpoint if it can have one.
  void resolve(member&, segment_id, peer& p) noexcept;

  // A key may serve until nothing is under way or waits: one cannot tell for which.
  void forget_old_keys(peer&) noexcept;
  void forget_keys(peer&) noexcept;  // its connection is about to be closed

 private:
  void release(member&) noexcept;

  region_table& regions_;
  one_sided* reach_ = nullptr;  // null: the link has no keys
  rank_t self_ = 0;
  segment_table<member> segments_;
  member nobody_;
};

}  // namespace tutti::messages
