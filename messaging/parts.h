// What a long transfer needs besides where its data move in parts: memory that is registered part after part while earlier parts move, at
// either end, and data that lie in pieces, which move by lists. Made for an operation that needs it first, and reused with it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/job/attachment_cache.h"
#include "core/job/registration_cache.h"
#include "core/transport/transport.h"

namespace tutti::messaging {

struct parts {
  static constexpr std::uint32_t most_slices = 1024;  // under way at once

  // The other end's memory, of which this is told part by part, in order.
  struct far {
    std::uint64_t upto;        // bytes of the message that this part and those before it hold
    segment_id segment;
    std::uint64_t offset;      // of the message's first byte in the segment, as if it began there: modulo 2^64
  };
  std::vector<far> told;
  std::size_t next = 0;        // of them, the one after that in use
  std::vector<attachment_cache::use> reached;
  std::vector<segment_id> attached;

  // Memory here: registrations of this operation alone or kept ones, until it is over.
  std::vector<registration_cache::use> registered;
  std::uint64_t offered = 0;   // sender: bytes whose key the receiver has been told, or is about to be
  std::uint64_t piece = 0;     // sender: bytes of a part; 0: all goes as one
  std::uint64_t packed = 0;    // sender: bytes that are in its buffer
  bool registers = false;      // sender: each part is to be registered
  bool rest_as_stream = false; // receiver: no more keys come; sender: it has said so

  // Data here that lie in pieces.
  bool lists = false;                // they move from where they lie, or to there
  region_id region = unregistered_memory;  // in which they lie, and the address of its first byte
  std::uintptr_t region_base = 0;
  std::unique_ptr<slice[]> slices;   // of gets under way
  std::uint32_t used = 0;
  rma_op refused{};                  // that the fabric had no room for: to be offered again
  bool again = false;

  void clear() noexcept {
    told.clear(), reached.clear(), attached.clear(), registered.clear();
    next = 0, offered = piece = packed = 0, registers = rest_as_stream = false;
    lists = again = false, region = unregistered_memory, used = 0;
  }
};

}  // namespace tutti::messaging
