#include "api/requests.h"

#include <new>

namespace tutti {

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
    slabs_.push_back(std::make_unique<request_slot[]>(slab_size));
  } catch (const std::bad_alloc&) {
    return;
  }
  for (std::uint32_t i = slab_size; i-- > 0;) give(&slabs_.back()[i]);
}

}  // namespace tutti
