// What the files of the broadcasts share: the buffers of their schedules.
#pragma once
#include <cstdint>

namespace tutti {

inline constexpr std::uint32_t bcast_data = 0;     // the caller's
inline constexpr std::uint32_t bcast_staging = 1;  // bcast_pieces pieces that peers may write

inline constexpr std::uint32_t bcast_pieces = 16;           // of a run
inline constexpr std::uint64_t bcast_most_piece = 64 << 10;  // bytes that are passed on at once

}  // namespace tutti
