// The control segment: the few words that the members of a team write into each other's memory. Every member owns one
// of the same layout, allocated when the team is made. A line is 64 bytes and carries one word (credits excepted), so that
// two writers never share a cache line. The first lines serve the team itself; the engines' follow.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::control {

inline constexpr std::uint32_t line_bytes = 64;
inline constexpr std::uint32_t fragment_bytes = 256;  // of an exchange (core/job/team_exchange.cpp)
inline constexpr std::uint32_t fragment_slots = 4;
inline constexpr std::uint32_t fragment_lines = fragment_bytes / line_bytes;

// Lines by purpose. The comments say who writes them.
inline constexpr std::uint32_t poison = 0;         // any member that learned of a death or a loss: that job rank + 1 (team.cpp)
inline constexpr std::uint32_t release = 1;        // of a multicast barrier, as core/engine/published_number.h lays them out
inline constexpr std::uint32_t release_lines = 2;
inline constexpr std::uint32_t record = release + release_lines;  // mine: which collective calls I made (collectives/call_record.h)
inline constexpr std::uint32_t record_lines = 16;
inline constexpr std::uint32_t arrival_up = record + record_lines;   // the child whose turn it is: fragments it has sent
inline constexpr std::uint32_t arrival_down = arrival_up + 1;          // the parent: likewise
inline constexpr std::uint32_t credit_up = arrival_down + 1;           // the parent: fragments it has taken
inline constexpr std::uint32_t credits_down = credit_up + 1;           // the children: likewise, a word each (credit_down())
inline constexpr std::uint32_t credits_down_lines = 4;                 // at most 32 children
inline constexpr std::uint32_t fragments_in = credits_down + credits_down_lines;  // a child or the parent: the fragments themselves
inline constexpr std::uint32_t fragment_out = fragments_in + fragment_slots * fragment_lines;  // mine: the one being sent
inline constexpr std::uint32_t engine = fragment_out + fragment_lines;  // first line of the engines

inline constexpr std::uint64_t offset(std::uint32_t line) noexcept { return std::uint64_t{line} * line_bytes; }

// Words that are written once an exchange share lines.
inline constexpr std::uint64_t credit_down(unsigned child) noexcept { return offset(credits_down) + 8 * std::uint64_t{child}; }

inline std::uint64_t load_word(const std::byte* base, std::uint64_t at) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(base) + at);
  return std::atomic_ref<std::uint64_t>(*word).load(std::memory_order_acquire);
}
inline std::uint64_t load(const std::byte* base, std::uint32_t line) noexcept { return load_word(base, offset(line)); }

}  // namespace tutti::control
