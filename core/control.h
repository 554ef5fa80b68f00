// The control segment: the few words that the members of a team write into each other's memory. Every member owns one
// of the same layout, allocated when the team is made. A line is 64 bytes and carries one word, so that two writers
// never share a cache line. The first lines serve the team itself; the engines' follow.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::control {

inline constexpr std::uint32_t line_bytes = 64;
inline constexpr std::uint32_t fragment_bytes = 256;  // of an exchange (core/team_exchange.cpp)
inline constexpr std::uint32_t fragment_slots = 4;
inline constexpr std::uint32_t fragment_lines = fragment_bytes / line_bytes;

// Lines by purpose; who writes them.
inline constexpr std::uint32_t poison = 0;         // any member that learned of a death or a loss: that job rank + 1 (team.cpp)
inline constexpr std::uint32_t release = 1;        // of a multicast barrier, as core/reliable_multicast.h lays them out
inline constexpr std::uint32_t release_lines = 2;
inline constexpr std::uint32_t ring_credit = release + release_lines;  // the next member: fragments it has taken
inline constexpr std::uint32_t ring_arrival = ring_credit + 1;         // the previous member: fragments it has sent
inline constexpr std::uint32_t ring_in = ring_arrival + 1;             // the previous member: the fragments themselves
inline constexpr std::uint32_t ring_out = ring_in + fragment_slots * fragment_lines;  // mine: the fragment being sent
inline constexpr std::uint32_t engine = ring_out + fragment_lines;                    // first line of the engines

inline constexpr std::uint64_t offset(std::uint32_t line) noexcept { return std::uint64_t{line} * line_bytes; }

inline std::uint64_t load(const std::byte* base, std::uint32_t line) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(base) + offset(line));
  return std::atomic_ref<std::uint64_t>(*word).load(std::memory_order_acquire);
}

}  // namespace tutti::control
