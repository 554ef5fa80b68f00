// One-sided operations made of messages, as in the designs of Huang et al. (2005) that have no others: the origin tells the target
// what to do, and the target does it in its own memory.
//
// An epoch is a list of operations. Each goes as a header, which a short put's data follow in the same message; a long put's data come
// in a message of their own, received where they belong, and what a get reads comes back as one. The last header ends the epoch. Tags
// number the messages of an epoch, and messages of one tag between two ranks keep their order, so epochs need not be kept apart.
#pragma once
#include <tutti.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::tools {

struct one_sided_operation {
  bool get;
  std::uint64_t offset;  // in the target's memory
  std::byte* memory;     // here
  std::size_t bytes;
};

class one_sided_by_messages {
 public:
  // `other`: the one other rank that takes part; `memory`: what it may read and write here.
  one_sided_by_messages(tutti_t ctx, std::uint32_t other, std::span<std::byte> memory);
  void perform(std::span<const one_sided_operation>);  // at the origin: returns when all buffers may be used again
  void serve();                                        // at the target: one epoch

 private:
  static constexpr std::size_t most_together = 1024;   // bytes of a put that travel with the header
  struct header {
    std::uint32_t get, last, number, reserved;
    std::uint64_t offset, bytes;
  };
  void require(tutti_status_t) const;
  tutti_request_t* next_request();
  void wait_for_all();

  tutti_t ctx_;
  tutti_team_t world_;
  std::uint32_t other_;
  std::span<std::byte> memory_;
  std::vector<std::byte> packed_;
  std::vector<tutti_request_t> requests_;
  std::size_t used_ = 0;
};

}  // namespace tutti::tools
