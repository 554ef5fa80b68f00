// The messages that arrived in the last sync (bsp_send), in the order in which they are taken out. A message that lies
// whole in a chunk stays there: the chunk is not written again before the next sync has begun here, when the queue is
// emptied. Only one that came in pieces, or in a slot of a channel, is copied.
//
// Copies lie in blocks, which stay for the next superstep's, and are taken from what the process may buffer, as the list of
// the messages is. Blocks that this superstep does not use are given back when the process runs short.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bsp/budget.h"
#include "bsp/wire.h"

namespace tutti::bsp {

struct message {
  const std::byte* tag = nullptr;
  const std::byte* payload = nullptr;
  std::uint64_t bytes = 0;      // of the payload
  std::uint32_t tag_bytes = 0;

  message() = default;
  // The payload follows the tag.
  message(const message_head& head, const std::byte* at) noexcept
      : tag(at), payload(at + round_up(head.tag_bytes, 16)), bytes(head.payload_bytes), tag_bytes(head.tag_bytes) {}
};

class message_queue {
 public:
  explicit message_queue(budget& memory) : memory_(memory) {}

  std::size_t count() const noexcept { return all_.size() - next_; }
  std::uint64_t payload_bytes() const noexcept { return payload_; }
  const message* front() const noexcept { return next_ < all_.size() ? &all_[next_] : nullptr; }
  void pop() noexcept { payload_ -= all_[next_++].bytes; }

  void clear() noexcept;
  // False: the list would be more than may be buffered.
  [[nodiscard]] bool add(const message&);
  // Room for a tag and payload that are to be copied; 16-byte aligned, until clear(). Null: that is more than may be
  // buffered.
  std::byte* keep(std::uint64_t bytes);
  std::uint64_t kept_bytes() const noexcept { return held_; }  // of all blocks
  std::string remedy() const { return memory_.remedy(); }
  // Frees the blocks that are not in use now.
  void spare() noexcept;

 private:
  std::vector<message> all_;
  std::size_t next_ = 0;
  std::uint64_t payload_ = 0;
  struct block {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  budget& memory_;
  std::vector<block> blocks_;   // those in use first
  std::size_t used_ = 0, mark_ = 0;  // how many are in use, and how much of the last of these
  std::uint64_t held_ = 0;      // bytes of all
};

}  // namespace tutti::bsp
