// Swaps by compare_swap. Verbs have no swap, so one is tried with a guess of the old value; what comes back is either
// the guess, and the swap has happened, or a better guess. A try that fails changes nothing, so however many there are,
// the word changes once. The try's answer lands where the old value is wanted, and is read there.
//
// Between tries the operation is not in the send queue; peer::swaps counts it, and whatever must be behind it (signals
// behind everything, flushes) is refused until it has ended.
#pragma once
#include <memory>

#include "providers/verbs/bounce_buffers.h"
#include "providers/verbs/peer.h"

namespace tutti::verbs {

inline constexpr std::uint32_t most_swaps = 256;      // under way
class requests;

class swap_table {
 public:
  swap_table(requests& out, bounce_buffers& bounce) noexcept : out_(out), bounce_(bounce) {}
  void open(rank_t self);

  bool is_full() const noexcept { return free_ == most_swaps; }
  // Of the word at `address`. False: its old value has no place to land, for `why`, or for want of a buffer, if `why` is ok.
  bool take(const rma_op&, peer&, std::uint64_t address, std::uint32_t rkey, status& why) noexcept;
  void tried(std::uint16_t index, const status&) noexcept;
  void retry() noexcept;  // those that wait for room
  bool any_waits() const noexcept { return waiting_ != 0; }

 private:
  struct swap {
    peer* to = nullptr;           // null: free
    completion* done = nullptr;
    std::byte* result = nullptr;  // where the adapter puts the old value
    std::uint64_t address = 0, operand = 0, guess = 0;
    std::uint32_t rkey = 0, lkey = 0;
    posted holds{};               // the region or bounce buffer that `result` is in
    bool waits = false;           // for room
    std::uint16_t next_free = 0;
  };
  void attempt(swap&) noexcept;
  void end(swap&, const status&, bool took_effect = false) noexcept;

  requests& out_;
  bounce_buffers& bounce_;
  rank_t self_ = 0;
  std::unique_ptr<swap[]> swaps_;
  std::uint16_t free_ = 0;
  std::uint32_t waiting_ = 0;
};

}  // namespace tutti::verbs
