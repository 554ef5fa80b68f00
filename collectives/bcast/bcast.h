// Broadcast algorithms as a table: a row each. Those by puts are pure functions from a shape to the schedule of one rank;
// the one by multicast is collectives/bcast/reliable_broadcast.h, which no schedule can say (what it sends depends on what is lost).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "core/schedule/schedule.h"

namespace tutti {

// A run by puts moves at most `pieces_a_run` pieces: what one member's staging memory holds.
inline constexpr std::uint32_t bcast_pieces_a_run = 16;
inline constexpr std::uint32_t bcast_most_piece = 64 << 10;

// What the members know alike; `rank` alone differs.
struct bcast_shape {
  std::uint32_t rank = 0;    // team index
  std::uint32_t size = 1;
  std::uint32_t root = 0;    // team index
  std::uint64_t bytes = 0;   // of one run, at most bcast_pieces_a_run * piece
  std::uint32_t piece = bcast_most_piece;  // bytes that are passed on at once
};

// The buffers of such a schedule.
inline constexpr std::uint32_t bcast_data = 0;     // the caller's
inline constexpr std::uint32_t bcast_staging = 1;  // bcast_pieces_a_run * piece bytes that peers may write

struct bcast_algorithm {
  std::string_view name;     // as in TUTTI_BCAST
  std::string_view summary;  // one line
  std::string_view source;
  bool needs_multicast;
  schedule (*make)(const bcast_shape&);  // null: by multicast
};

std::span<const bcast_algorithm> bcast_algorithms() noexcept;
const bcast_algorithm* find_bcast(std::string_view name) noexcept;  // null: there is none

namespace bcasts {
// Lines of control memory for either tree: one a piece, and one for each child that a rank may have.
std::uint32_t tree_words(std::uint32_t size) noexcept;
schedule binomial(const bcast_shape&);
schedule chain(const bcast_shape&);
}  // namespace bcasts

}  // namespace tutti
