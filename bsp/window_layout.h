// The window by which processes communicate: memory of each that the others write or read, laid out alike in all. It holds
// the metadata words, the offers of new channels, direct gets, and the first chunk that this process packs for each of the
// others, which most supersteps never go beyond.
//
// Where a peer's memory cannot be read in place, its first chunk comes into a window of its own, the eager window, which
// exists only if there is such a pair of processes.
#pragma once
#include <atomic>
#include <cstdint>

#include "bsp/arena.h"

namespace tutti::bsp {

inline constexpr std::uint64_t default_chunk_room = std::uint64_t{5} << 18;

struct window_layout {
  static constexpr std::uint32_t key_room = 512;    // of a region's key in the directory, with 4 bytes of length
  static constexpr std::uint32_t offer_room = 1024;  // of the offer of a channel, with 8 bytes of length

  static constexpr std::uint32_t request_bytes = 32, piece_bytes = 16384;  // of direct gets

  std::uint32_t processes;
  std::uint64_t chunk_room = default_chunk_room;  // bytes for chunks beyond the first, of all windows together

  // Of the first chunk: of one that goes with the metadata word; and of one that is read in place, where a second chunk costs
  // 130 ns, and memory for the first nothing as long as there are few processes.
  std::uint32_t eager_bytes() const noexcept { return processes <= 128 ? 4096 : 1024; }
  std::uint32_t chunk_bytes() const noexcept { return processes <= 8 ? 16384 : eager_bytes(); }
  std::uint64_t words() const noexcept { return round_up(std::uint64_t{processes} * 8, 64); }

  // Who writes each:
  static constexpr std::uint64_t finished() noexcept { return 0; }  // its owner: supersteps that it has finished
  static constexpr std::uint64_t requests() noexcept { return 8; }  // anybody: direct gets that it is asked for
  static constexpr std::uint64_t landed() noexcept { return 16; }   // who is asked: pieces of its own that have come
  std::uint64_t metadata(unsigned half, std::uint32_t from) const noexcept { return 64 + half * words() + 8ull * from; }
  std::uint64_t answer(std::uint32_t from) const noexcept { return 64 + 2 * words() + 8ull * from; }
  std::uint64_t end(std::uint32_t from) const noexcept { return 64 + 3 * words() + 8ull * from; }  // its finished()
  std::uint64_t directory(std::uint32_t region) const noexcept {  // its owner, read in place
    return 64 + 4 * words() + std::uint64_t{region} * key_room;
  }
  std::uint64_t offer_word(std::uint32_t from) const noexcept { return directory(arena::most_regions) + 8ull * from; }
  std::uint64_t offer_in(std::uint32_t from) const noexcept { return offer_word(0) + words() + std::uint64_t{from} * offer_room; }
  std::uint64_t offer_out(std::uint32_t to) const noexcept { return offer_in(processes + to); }  // its owner
  std::uint64_t chunk(unsigned half, std::uint32_t to) const noexcept {  // its owner
    return round_up(offer_in(2 * processes), 4096) + (half * std::uint64_t{processes} + to) * chunk_bytes();
  }
  std::uint64_t request_word(std::uint32_t from) const noexcept { return chunk(2, 0) + 8ull * from; }
  std::uint64_t request_in(std::uint32_t from) const noexcept {
    return request_word(0) + words() + std::uint64_t{from} * request_bytes;
  }
  std::uint64_t request_out() const noexcept { return request_in(processes); }  // its owner
  std::uint64_t landing() const noexcept { return round_up(request_in(processes + 1), 64); }  // who is asked
  std::uint64_t answer_out() const noexcept { return landing() + piece_bytes; }  // its owner
  // Its owner: chunks beyond the first. Memory that is made in the superstep that needs it costs that superstep 3 us a page,
  // several times what copying costs; here it is made before the program begins. As a process maps the windows of all that it
  // reads in place, their rooms are the smaller the more there are.
  std::uint64_t room_bytes() const noexcept { return chunk_room / processes / 4096 * 4096; }
  std::uint64_t room() const noexcept { return round_up(answer_out() + piece_bytes, 4096); }
  std::uint64_t bytes() const noexcept { return room() + room_bytes(); }

  // The eager window: chunks that come with a metadata word.
  std::uint64_t eager(unsigned half, std::uint32_t from) const noexcept {
    return (half * std::uint64_t{processes} + from) * eager_bytes();
  }
  std::uint64_t eager_window_bytes() const noexcept { return eager(2, 0); }
};

inline std::uint64_t load_acquire(const std::byte* at) noexcept {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at)))
      .load(std::memory_order_acquire);
}
inline void clear_word(std::byte* at) noexcept {
  std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(at)).store(0, std::memory_order_release);
}

}  // namespace tutti::bsp
