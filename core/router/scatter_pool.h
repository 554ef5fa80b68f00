// The router's get_scatter towards the network. A list of slices names regions by the router's ids and must stay as it
// is until the get is done, so the translated list needs a place for as long: one of a fixed number of slots. No slot
// free means "full" (clause 2).
//
// Who owns a slot when. hold() takes a slot for an operation that is about to be offered, and has the operation name the slot's
// own completion. If the network refuses the operation, release() frees the slot and nothing has happened. If the network takes
// it, commit() begins the caller's completion. From then on the operation owns the slot until the slot's completion is idle; then
// settle() hands the outcome to the caller's completion and frees the slot. An operation without a completion reports at the next
// flush of its rank (clause 3): an error that is known by then is told at once, and a slot that is still in flight adopts the
// flush's completion.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/id_map.h"
#include "core/transport/transport.h"

namespace tutti {

class scatter_pool {
 public:
  explicit scatter_pool(std::uint32_t max_slices);

  // Makes `op`, a get_scatter of which all ids but the slices' are translated, name a slot. False: full.
  bool hold(rma_op& op, const id_map<region_id>& ids) noexcept;
  void release(const rma_op& held) noexcept;
  void commit(const rma_op& held, completion* caller) noexcept;
  // Frees the slots of operations that have ended; returns how many.
  unsigned settle() noexcept { return live_ ? settle_live() : 0; }
  // After the network has taken a flush with `done`.
  void flushed(rank_t peer, completion* done) noexcept {
    if (done && (live_ || !untold_.empty())) tell(peer, done);
  }

 private:
  struct slot {
    completion landed;            // what the network finishes
    completion* caller = nullptr;
    rank_t rank = no_rank;
    enum : std::uint8_t { free, held, taken } state = free;
  };
  static constexpr std::uint32_t slots = 16;
  std::uint32_t index_of(const rma_op& held) const noexcept {
    return static_cast<std::uint32_t>((held.scatter - lists_.get()) / max_slices_);
  }
  unsigned settle_live() noexcept;
  void tell(rank_t peer, completion* done) noexcept;

  std::uint32_t max_slices_;
  std::uint32_t live_ = 0;           // slots in state `taken`
  std::unique_ptr<slice[]> lists_;   // max_slices_ for each slot
  std::array<slot, slots> slots_;
  std::vector<std::pair<rank_t, status>> untold_;  // errors without a completion, the first of each rank
};

}  // namespace tutti
