#include "api/requests.h"

#include <atomic>
#include <mutex>
#include <new>

namespace tutti {
namespace {

using slab = std::unique_ptr<request_slot[]>;

// Of contexts that ended.
struct left_slabs {
  std::mutex mutex;
  std::vector<slab> all;
};
left_slabs& left() {
  static auto* const kept = new left_slabs;  // never destroyed: a stale request may be looked at until the process ends
  return *kept;
}

constexpr int ticket_bits_of_a_pool = 44;
std::atomic<std::uint64_t> pools{0};

}  // namespace

request_pool::request_pool() noexcept : issued_(pools.fetch_add(1) << ticket_bits_of_a_pool) {}

request_pool::~request_pool() {
  for (slab& s : slabs_)
    for (std::uint32_t i = 0; i < slab_size; ++i) s[i].~request_slot(), new (&s[i]) request_slot;
  try {
    const std::lock_guard lock(left().mutex);
    for (slab& s : slabs_) left().all.push_back(std::move(s));
  } catch (const std::bad_alloc&) {
    for (slab& s : slabs_) (void)s.release();  // lost rather than unmapped
  }
}

void request_pool::grow() noexcept {
  request_slot** link = &abandoned_;
  while (request_slot* s = *link) {
    if (!s->done.idle()) {
      link = &s->next;
      continue;
    }
    *link = s->next;
    give(s);
  }
  if (free_) return;
  try {
    slabs_.reserve(slabs_.size() + 1);
    const std::lock_guard lock(left().mutex);
    if (auto& old = left().all; !old.empty()) {
      slabs_.push_back(std::move(old.back()));
      old.pop_back();
    } else {
      slabs_.push_back(std::make_unique<request_slot[]>(slab_size));
    }
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::uint32_t i = slab_size; i-- > 0;) give(&slabs_.back()[i]);
}

}  // namespace tutti
