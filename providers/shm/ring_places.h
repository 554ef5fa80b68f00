// The places of a ring in shared memory, which many ranks fill and one empties in order.
//
// A place goes through three states, kept in one word with the position (which place on which lap) it is for:
//   free(pos)          a writer may take it by compare-and-swap
//   claimed(pos, rank) that writer fills it
//   published(pos)     the reader, who reads in the order of positions, may take it; then it becomes free(pos + places)
// The ring's head only says where to look for a free place; anybody who finds the place at the head taken moves it on. So
// a writer that is stopped between two instructions holds up nobody's claim. The reader waits for it, though, as order
// is what the ring is for; if it is dead, which its name in the word lets the reader find out, the reader frees the
// place: a dead process cannot write to it later.
//
// What a rank writes is in the order of its claims, since each claim is after the one before.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

namespace tutti::shm {

class place_state {
 public:
  constexpr place_state(std::uint64_t word) noexcept : word_(word) {}
  static constexpr place_state free(std::uint64_t position) noexcept { return position << rank_bits; }
  // `who`: the writer's index among the ranks of this node.
  static constexpr place_state claimed(std::uint64_t position, std::uint32_t who) noexcept { return position << rank_bits | (who + 1u); }
  static constexpr place_state published(std::uint64_t position) noexcept { return position << rank_bits | rank_mask; }

  constexpr std::uint64_t word() const noexcept { return word_; }
  constexpr bool operator==(const place_state&) const noexcept = default;
  // How far the place is ahead of `position`: 0: it is for it, negative: a lap behind, positive: moved on.
  constexpr std::int64_t ahead(std::uint64_t position) const noexcept {
    return static_cast<std::int64_t>(((word_ >> rank_bits) - position) << (64 - position_bits));
  }
  // Who has claimed it for this position and not published it yet, by index.
  constexpr std::optional<std::uint32_t> writer(std::uint64_t position) const noexcept {
    const std::uint64_t who = word_ & rank_mask;
    if (ahead(position) != 0 || who == 0 || who == rank_mask) return std::nullopt;
    return static_cast<std::uint32_t>(who - 1);
  }

 private:
  static constexpr unsigned position_bits = 40;  // compared as serial numbers: no lap is ever 2^39 behind
  static constexpr unsigned rank_bits = 24;
  static constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;
  std::uint64_t word_;
};

// Claims the next free place for the writer `who` and gives its position; none: the ring is full. `word_of(position)` is the
// word of the place that a position stands for.
template <class WordOf>
std::optional<std::uint64_t> claim_place(std::atomic<std::uint64_t>& head, WordOf&& word_of, std::uint32_t who) noexcept {
  std::uint64_t position = head.load(std::memory_order_relaxed);
  for (;;) {
    std::atomic<std::uint64_t>& word = word_of(position);
    std::uint64_t seen = word.load(std::memory_order_acquire);
    std::uint64_t at = position;
    if (seen == place_state::free(position).word() &&
        word.compare_exchange_strong(seen, place_state::claimed(position, who).word(), std::memory_order_acq_rel)) {
      head.compare_exchange_strong(at, position + 1, std::memory_order_relaxed);
      return position;
    }
    if (place_state{seen}.ahead(position) < 0) return std::nullopt;
    // Taken: help its owner, who may never come to it, and try the next.
    position = head.compare_exchange_strong(at, position + 1, std::memory_order_relaxed) ? position + 1 : at;
  }
}

}  // namespace tutti::shm
