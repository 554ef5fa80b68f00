#include "api/implicit.h"

#include <new>

namespace tutti {

completion* implicit_operations::add(std::uint32_t rank, tutti_context* owner, request_pool& pool) noexcept {
  request_slot* slot = nullptr;
  try {
    places_.reserve_one();
    counts_.reserve(counts_.size() + 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  if (!(slot = pool.take(owner))) return nullptr;
  places_.set(rank, static_cast<std::uint32_t>(counts_.size()));
  counts_.push_back({rank, slot});
  last_ = rank;
  return last_done_ = &slot->done;
}

void implicit_operations::release(request_pool& pool) noexcept {
  for (const count& c : counts_) {
    if (c.slot->done.idle()) pool.give(c.slot);
    else pool.abandon(c.slot);
  }
  counts_.clear();
  last_ = no_rank;
}

}  // namespace tutti
