// The messages that arrived in the last sync (bsp_send), in the order in which they are taken out. A message that lies
// whole in a chunk stays there: the chunk is not written again before the next sync has begun here, when the queue is
// emptied. Only one that came in pieces, or in a slot of a channel, is copied.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bsp/wire.h"

namespace tutti::bsp {

struct message {
  const std::byte* tag;
  const std::byte* payload;
  std::uint64_t bytes;      // of the payload
  std::uint32_t tag_bytes;
};

class message_queue {
 public:
  std::size_t count() const noexcept { return all_.size() - next_; }
  std::uint64_t payload_bytes() const noexcept { return payload_; }
  const message* front() const noexcept { return next_ < all_.size() ? &all_[next_] : nullptr; }
  void pop() noexcept { payload_ -= all_[next_++].bytes; }

  void clear() noexcept;
  void add(const message_head& head, const std::byte* tag);  // the payload follows the tag
  // Room for a tag and payload that are to be copied; 16-byte aligned, until clear().
  std::byte* keep(std::uint64_t bytes);

 private:
  std::vector<message> all_;
  std::size_t next_ = 0;
  std::uint64_t payload_ = 0;
  struct block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::vector<block> blocks_;   // kept from one superstep to the next
  std::size_t block_ = 0, mark_ = 0;
};

}  // namespace tutti::bsp
