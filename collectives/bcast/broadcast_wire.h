// What travels in a reliable broadcast (collectives/bcast/reliable_broadcast.h): tags of datagrams, the word of a published slot, and the
// layout of the memory that every member exposes. Pure; the tests hold it against itself.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/base/round_up.h"
#include "core/job/control.h"

namespace tutti::broadcast_wire {

inline constexpr std::uint32_t most_window = 64;          // fragments; a member's books of them fit into one word
inline constexpr std::uint32_t most_window_bytes = 512 << 10;
inline constexpr std::uint32_t fan_in = 8;                // of the tree by which progress is told

// What all members must take a broadcast to be, in 16 bits. If nothing but the numbers of bytes differ, it does wherever as
// many pieces of 64 KiB make up either, and elsewhere but for one in 65536, of which round numbers less than 256 MiB apart
// are none. If nothing but calls or roots less than 65536 apart differ, it does.
constexpr std::uint16_t digest_of(std::uint64_t call, std::uint32_t root, std::uint64_t bytes) noexcept {
  return static_cast<std::uint16_t>((bytes - 1) + ((bytes - 1) >> 16) * 0x9e37 + call * 0x3c6f + root * 0xa4b5);
}

// A datagram is the bare bytes of a fragment; its number goes in the tag, so that nothing is put in front of the payload.
// So does whether it is the last of its broadcast, and the lowest bit of that one's number among the calls: with the
// payload's length they say whether root and receiver mean the same.
inline constexpr std::uint32_t last_bit = std::uint32_t{1} << 31;
inline constexpr std::uint32_t odd_bit = std::uint32_t{1} << 30;
inline constexpr std::uint32_t number_bits = odd_bit - 1;

constexpr std::uint32_t tag_of(std::uint64_t seq, bool last, std::uint64_t call) noexcept {
  return (static_cast<std::uint32_t>(seq) & number_bits) | (last ? last_bit : 0) | ((call & 1) != 0 ? odd_bit : 0);
}
constexpr bool same_broadcast(std::uint32_t tag, bool last, std::uint64_t call) noexcept {
  return ((tag & last_bit) != 0) == last && ((tag & odd_bit) != 0) == ((call & 1) != 0);
}
// How far the fragment is ahead of `next`. What is old is very far ahead.
constexpr std::uint32_t ahead_of(std::uint32_t tag, std::uint64_t next) noexcept {
  return (tag - static_cast<std::uint32_t>(next)) & number_bits;
}

// The word in front of a slot's payload: which fragment, + 1, and the digest of its broadcast.
inline constexpr std::uint64_t slot_word_bits = (std::uint64_t{1} << 48) - 1;
inline constexpr std::uint32_t slot_word_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t slot_word(std::uint64_t seq, std::uint16_t digest) noexcept {
  return ((seq + 1) & slot_word_bits) | std::uint64_t{digest} << 48;
}
constexpr bool holds(std::uint64_t word, std::uint64_t seq) noexcept { return ((word ^ (seq + 1)) & slot_word_bits) == 0; }

// Bytes of the exposed memory by purpose; who writes them.
struct layout {
  static constexpr std::uint64_t line = control::line_bytes;
  static constexpr std::uint64_t granted = 0;                          // member 0, at a root: up to here all have taken
  static constexpr std::uint64_t position = line;  // mine, two lines: up to here I have published (core/engine/published_number.h)
  static constexpr std::uint64_t children = position + 2 * line;       // each child its own line: what its subtree has taken
  static constexpr std::uint64_t slots = children + fan_in * line;

  std::uint32_t fragment = 0, window = 0;                              // bytes; fragments
  constexpr std::uint64_t slot_bytes() const noexcept { return round_up(std::uint64_t{fragment} + slot_word_bytes, line); }
  std::uint64_t slot(std::uint64_t seq) const noexcept { return slots + seq % window * slot_bytes(); }       // mine: published
  std::uint64_t landing(std::uint64_t seq) const noexcept { return slot(seq) + window * slot_bytes(); }      // my reads
  std::uint64_t bytes() const noexcept { return slots + 2 * window * slot_bytes(); }
  // How much of the window is taken before that is told.
  std::uint32_t grain() const noexcept { return std::max(1u, window / 4); }
};

// What the receivers of a multicast can keep, and a quarter at least left for those that come twice. A power of two, so
// that slots go on without a gap where the numbers wrap.
constexpr layout layout_for(std::uint32_t max_payload, std::uint32_t receive_depth) noexcept {
  layout l{max_payload, 0};
  const std::uint32_t fits = most_window_bytes / std::max(1u, max_payload);
  l.window = std::bit_floor(std::max(1u, std::min({most_window, receive_depth - receive_depth / 4, fits})));
  return l;
}

}  // namespace tutti::broadcast_wire
