// This rank's operations as they are taken: work requests on the peer's queue pair (transport.h says which).
#pragma once
#include "providers/common/segment_table.h"
#include "providers/verbs/peer_table.h"
#include "providers/verbs/swaps.h"

namespace tutti::verbs {

// A member's part of a segment.
struct target {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;      // 0: it exposes nothing
  std::uint32_t rkey = 0, word_rkey = 0;
  std::uint32_t region = 0;
};

class operations {
 public:
  operations(region_table& regions, bounce_buffers& bounce, endpoint& end, requests& out, swap_table& swaps, backlogs& waiting,
             peer_table& peers) noexcept
      : regions_(regions), bounce_(bounce), end_(end), out_(out), swaps_(swaps), waiting_(waiting), peers_(peers) {}
  void open(rank_t self) noexcept { self_ = self; }

  bool take(const rma_op& op) noexcept;            // false: full
  bool flush(rank_t, completion*) noexcept;        // likewise
  void begin_waiting() noexcept;                   // what waits for a queue pair that there is now

  result<segment_id> attach(const rank_map&, shared_blobs keys, std::uint32_t job_size);
  void drop(segment_id id) noexcept { segments_.drop(id, [](rank_t, target&) {}); }
  void forget_region(region_id) noexcept;          // this rank's part of all segments that name it
  const target* target_of(segment_id id, rank_t rank) noexcept {  // null: nothing is exposed there
    const target* t = segments_.find(id, rank);
    return t && t->bytes ? t : nullptr;
  }

 private:
  bool start(const rma_op&, peer&) noexcept;
  bool take_put(const rma_op&, peer&) noexcept;
  bool take_get(const rma_op&, peer&) noexcept;
  bool take_atomic(const rma_op&, peer&) noexcept;
  bool keep(const rma_op&, peer&) noexcept;        // until there is a queue pair
  bool ends_or_waits(const rma_op&, peer&, std::uint16_t buffers, status why) noexcept;  // for lack of registered memory
  void post_flush(peer&, completion*) noexcept;

  region_table& regions_;
  bounce_buffers& bounce_;
  endpoint& end_;
  requests& out_;
  swap_table& swaps_;
  backlogs& waiting_;
  peer_table& peers_;
  segment_table<target> segments_;
  rank_t self_ = 0;
};

}  // namespace tutti::verbs
