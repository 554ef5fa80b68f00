#include "messaging/packing_memory.h"

namespace tutti::messaging {

bool packing_memory::make(transport& net) noexcept {
  try {
    auto region = net.allocate(slots * slot_bytes, memory_);
    failed_ = !region;
    if (region) region_ = *region, net_ = &net;
  } catch (const std::bad_alloc&) {
    failed_ = true;
  }
  return net_ != nullptr;
}

}  // namespace tutti::messaging
