// A channel: chunks of bytes between two ranks, in both directions, in order, each taken by one put_signal. It is what
// bulk traffic of BSP and of messages runs over where the peer's memory cannot be read in place.
//
// Each end owns a ring of slots for what the other sends, a word that tells how many chunks have arrived, and a word
// that tells how many of its own chunks the other has taken out. A chunk is put from where its sender packed it
// straight into a slot; the receiver reads it there.
//
// Safety. Chunks of one direction are numbered from 1. Chunk k goes to slot (k - 1) mod S once the peer has credited
// k - S chunks, and a credit is sent only after the slot was released, so no slot is overwritten unread. The arrival
// word is set by the put_signal of the chunk (clause 5: never visible before the payload), by one writer, in order: that
// it has reached k means that chunks 1..k are complete. Both words only grow. A credit is held back until half of the
// slots are owed, so that it costs one signal for several chunks; a sender that is out of slots has at least so many
// unreleased or owed ones, so it never waits for a credit that is held back.
//
// Buffers. The sender's chunk belongs to the channel until `done` has finished it. What front() shows belongs to the
// caller until release().
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/job/job.h"
#include "messaging/chunk.h"

namespace tutti::messaging {

class channel {
 public:
  struct shape {
    std::uint32_t slots = 8;               // chunks under way in each direction; a power of two, at least 2
    std::uint32_t slot_bytes = 16 * 1024;  // of the largest chunk; a multiple of 64
  };

  // Made in two halves at each end, between which the blobs travel by whatever way there is: offer() makes this end's
  // memory and gives its blob, accept() takes the peer's. Both ends use one shape.
  static result<std::unique_ptr<channel>> offer(job&, rank_t peer, const shape&, std::vector<std::byte>& blob);
  status accept(std::span<const std::byte> blob);
  bool open() const noexcept { return attached_; }
  ~channel();  // the peer must have stopped sending: a team's settle() sees to that
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  rank_t peer() const noexcept { return peer_; }
  std::uint32_t most_bytes() const noexcept { return shape_.slot_bytes; }

  // Sends the chunk at (local, offset), whose head says its length. False: no slot is free, or the fabric is full.
  [[nodiscard]] bool send(region_id local, std::uint64_t offset, const chunk_head&, completion* done) noexcept;
  // The same for a chunk in two parts: `front`, with the head, is copied and has at most max_inline bytes; the rest lies
  // at (local, offset). After a refusal the same chunk must be offered again.
  [[nodiscard]] bool send(std::span<const std::byte> front, region_id local, std::uint64_t offset, std::uint32_t bytes,
                          completion* done) noexcept;
  // The oldest chunk that has arrived and was not released, or empty. Does not progress the transport.
  std::span<const std::byte> front() const noexcept;
  void release() noexcept;
  // Offers a credit that the fabric refused. True: nothing is owed any more.
  bool settle() noexcept;

  // For those who wait and say for what.
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  channel(job& j, rank_t peer, const shape& s) noexcept : job_(j), peer_(peer), shape_(s) {}
  std::uint64_t load(std::uint64_t offset) const noexcept;
  bool full() const noexcept { return !reached(load(credit_at) + shape_.slots, sent_ + 1); }
  std::uint64_t next_slot() const noexcept { return slots_at + (sent_ & (shape_.slots - 1)) * shape_.slot_bytes; }

  static constexpr std::uint64_t arrival_at = 0, credit_at = 64, slots_at = 128;  // in each end's memory

  job& job_;
  rank_t peer_;
  shape shape_;
  bool exposed_ = false, attached_ = false;
  bool front_sent_ = false;                 // of the chunk that was refused
  region_id region_{};
  segment_id segment_{};
  std::byte* base_ = nullptr;
  std::uint64_t sent_ = 0, taken_ = 0;      // chunks
  std::uint64_t credited_ = 0;              // of the taken ones, told to the peer
};

}  // namespace tutti::messaging
