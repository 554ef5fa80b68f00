// What stands at the front of every chunk that travels through a channel, and of every chunk that is read where its
// sender packed it. The sender leaves room for it; nothing is ever copied to make room.
#pragma once
#include <cstdint>

namespace tutti::messaging {

struct chunk_head {
  std::uint32_t bytes = 0;  // of the chunk that are used, this head included
  std::uint32_t note = 0;   // the user's
};
static_assert(sizeof(chunk_head) == 8);

}  // namespace tutti::messaging
