// The places of a ring in shared memory, which many ranks fill and one empties in order.
//
// Who writes. A position stands for a place on a lap. A writer claims it by entering position and name in the place's word of
// `claims`, by compare-and-swap over a claim of an earlier lap. It fills the place, and then stores the position's stamp there. The
// reader, who reads in the order of positions, may take the place once the stamp is that of the position it is at; a stamp of an earlier
// lap says nothing. What a rank writes is in the order of its claims, since each claim is after the one before.
//
// Who frees. The reader moves `tail` on, and a position may be claimed while it is less than a lap ahead of that. So a claim of an
// earlier lap is over when it is overwritten: its place was read, and is not looked at again before the new stamp. Writers keep the tail
// that they saw last, and look again when that leaves no room: a tail that is out of date refuses too much, never too little.
//
// A writer that is stopped. `head` only says where to look for a free place; anybody who finds the place at the head taken moves it on.
// So a writer that is stopped between two instructions holds up nobody's claim. The reader waits for it, though, as order is what the
// ring is for; if it is dead, which its name in the claim lets the reader find out, the reader passes the place over: a dead process
// cannot write to it later.
//
// What it costs. Claims are apart from the places, and the reader looks at them only where it has waited for long: so a claim stays in the
// cache of who sends alone, and the line of a short message goes from cache to cache once, as that of a bare flag.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

namespace tutti::shm {

// A claim as it lies in memory. Zero, as fresh memory is: nobody's.
class place_claim {
 public:
  constexpr explicit place_claim(std::uint64_t word) noexcept : word_(word) {}
  // `who`: the writer's index among the ranks of this node.
  constexpr place_claim(std::uint64_t position, std::uint32_t who) noexcept : word_(position << rank_bits | (who + 1u)) {}

  constexpr std::uint64_t word() const noexcept { return word_; }
  // How far the claim is ahead of one for `position`: 0: it is one for it, negative: of an earlier lap, or none.
  constexpr std::int64_t ahead(std::uint64_t position) const noexcept {
    if (word_ == 0) return -1;
    return static_cast<std::int64_t>(((word_ >> rank_bits) - position) << (64 - position_bits));
  }
  // Who has claimed the place for this position, by index.
  constexpr std::optional<std::uint32_t> writer(std::uint64_t position) const noexcept {
    if (ahead(position) != 0) return std::nullopt;
    return static_cast<std::uint32_t>((word_ & rank_mask) - 1);
  }

 private:
  static constexpr unsigned position_bits = 40;  // compared as serial numbers: no lap is ever 2^39 behind
  static constexpr unsigned rank_bits = 24;
  static constexpr std::uint64_t rank_mask = (std::uint64_t{1} << rank_bits) - 1;
  std::uint64_t word_;
};

// What a place says when it was filled for a position. Fresh memory says it for none.
constexpr std::uint64_t stamp_of(std::uint64_t position) noexcept { return position + 1; }

// All zero in the beginning, as fresh memory is.
template <std::uint32_t places>
struct place_ring {
  static_assert((places & (places - 1)) == 0);
  alignas(64) std::atomic<std::uint64_t> head;  // a hint: no position below it is free to claim
  alignas(64) std::atomic<std::uint64_t> tail;  // every position before it was read
  alignas(64) std::atomic<std::uint64_t> claims[places];

  std::atomic<std::uint64_t>& claim_of(std::uint64_t position) noexcept { return claims[position % places]; }

  // The next free position, for the writer `who`; none: the ring is full. `seen_tail`: as this writer saw it last, 0 at first.
  std::optional<std::uint64_t> claim(std::uint32_t who, std::uint64_t& seen_tail) noexcept {
    std::uint64_t position = head.load(std::memory_order_relaxed);
    for (;;) {
      if (position - seen_tail >= places) {
        seen_tail = tail.load(std::memory_order_acquire);
        if (static_cast<std::int64_t>(position - seen_tail) >= std::int64_t{places}) return std::nullopt;
      }
      std::atomic<std::uint64_t>& word = claim_of(position);
      std::uint64_t seen = word.load(std::memory_order_relaxed);
      std::uint64_t at = position;
      if (place_claim{seen}.ahead(position) < 0 &&
          word.compare_exchange_strong(seen, place_claim{position, who}.word(), std::memory_order_relaxed)) {
        head.compare_exchange_strong(at, position + 1, std::memory_order_relaxed);
        return position;
      }
      // Taken: help its owner, who may never come to it, and try the next.
      position = head.compare_exchange_strong(at, position + 1, std::memory_order_relaxed) ? position + 1 : at;
    }
  }
};

}  // namespace tutti::shm
