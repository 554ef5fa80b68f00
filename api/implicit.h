// The gets, atomics and operations with layouts of one window that have no request, counted by the rank they go to: a flush
// towards one rank waits for its operations only, and an error is told by the flush of the rank that it concerns. (Puts of
// one piece and signals without a request are not counted here: the transport keeps them by rank itself.)
//
// Why a flush of one rank may look at that rank's count alone. The context belongs to one thread at a time, and that thread
// is in the flush: nothing is counted meanwhile, so a count that has come to zero stays there. The transport counts an
// operation in before submit() returns, and out once, with its error if it has one, in the same count; so zero means that
// all results from this rank have landed, and no other rank's can be among them. Counts live in slots of the context's
// pool, which outlives the window and the transport: an operation that a dead peer leaves behind finishes in memory that
// is there.
//
// Memory: a slot and a word for each rank that was ever so used. Going on with the same rank is a comparison.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "api/requests.h"
#include "core/base/id_map.h"

namespace tutti {

class implicit_operations {
 public:
  // Where an operation towards this rank of the window's team is to be counted. Null: out of memory.
  completion* towards(std::uint32_t rank, tutti_context* owner, request_pool& pool) noexcept {
    if (rank == last_) [[likely]] return last_done_;
    return find(rank, owner, pool);
  }

  // Ranks that were used so far, by their place here: 0 to used() - 1.
  std::size_t used() const noexcept { return counts_.size(); }
  std::size_t place_of(std::uint32_t rank) const noexcept {  // used() for one that was not
    const std::uint32_t at = places_[rank];                  // itself where it has no place
    return at < counts_.size() && counts_[at].rank == rank ? at : counts_.size();
  }
  bool idle(std::size_t place) const noexcept { return counts_[place].slot->done.idle(); }
  // The first error of its operations, which is then forgotten. Only when idle.
  status take_outcome(std::size_t place) noexcept {
    completion& done = counts_[place].slot->done;
    if (done.outcome().ok()) [[likely]] return {};
    status first = done.outcome();
    done.clear();
    return first;
  }
  // The window goes. Counts that are not at zero are reused once they are.
  void release(request_pool& pool) noexcept;

 private:
  struct count {
    std::uint32_t rank;
    request_slot* slot;
  };
  [[gnu::cold]] completion* add(std::uint32_t rank, tutti_context* owner, request_pool& pool) noexcept;
  completion* find(std::uint32_t rank, tutti_context* owner, request_pool& pool) noexcept {
    const std::size_t place = place_of(rank);
    if (place == counts_.size()) [[unlikely]] return add(rank, owner, pool);
    last_ = rank;
    return last_done_ = &counts_[place].slot->done;
  }

  std::uint32_t last_ = no_rank;  // no rank of a team
  completion* last_done_ = nullptr;
  std::vector<count> counts_;
  id_map<std::uint32_t> places_;  // by rank
};

}  // namespace tutti
