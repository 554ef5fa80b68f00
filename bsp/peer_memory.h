// Memory of the other processes that this one reads: chunks where they were packed, in windows and arenas that are mapped
// here; and the data of large puts that their senders keep.
#pragma once
#include <span>
#include <vector>

#include "bsp/context.h"

namespace tutti::bsp {

class peer_memory {
 public:
  // Once the windows are there. `mine`: in which this process finds its own chunks.
  peer_memory(const context&, const arena& mine);
  ~peer_memory();
  peer_memory(const peer_memory&) = delete;
  peer_memory& operator=(const peer_memory&) = delete;

  // The window of a process whose chunks are read in place; null: they come by put.
  const std::byte* window(std::uint32_t pid) const noexcept { return peers_[pid].window; }
  // What it packed for this process: the first chunk, in its window; and any other.
  const chunk_head& first(std::uint32_t pid) const noexcept {
    return *reinterpret_cast<const chunk_head*>(peers_[pid].window + c_.layout.chunk(c_.half(), c_.me));
  }
  // Regions of its arena are met as chunks name them; their keys stand in its window's directory by then (arena.h).
  result<const chunk_head*> at(std::uint32_t pid, location);

  // Regions whose keys it told, to be read by get. Region 0 is its window.
  status add_key(std::uint32_t pid, std::uint32_t region, std::span<const std::byte> key);
  segment_id readable(std::uint32_t pid, std::uint32_t region) const noexcept { return peers_[pid].readable[region]; }

 private:
  struct peer {
    const std::byte* window = nullptr;
    std::vector<const std::byte*> regions;  // mapped, as far as they were met
    std::vector<segment_id> readable;
    std::vector<segment_id> segments;       // to be dropped at the end
  };

  const context& c_;
  const arena& mine_;
  std::vector<peer> peers_;
};

// The memory of one process, by its key.
result<segment_id> attach_one(const context&, std::uint32_t pid, std::span<const std::byte> key);

}  // namespace tutti::bsp
