// A call of a collective that moves data, as the C API hands it to the engine.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/call_record.h"
#include "collectives/reduction/reduction.h"

namespace tutti {

// Where a member's blocks of unlike lengths lie: by team index, in bytes.
struct block_lists {
  std::vector<std::uint64_t> in_lengths, in_begins, out_lengths, out_begins;
};

// What a member calls. All but the addresses are alike in all members; of an alltoallv, kind alone must be.
struct collective_call {
  collective of = collective::broadcast;
  std::uint32_t root = 0;          // of what has one
  // Of `in` and of `out`; where there is a block for each member (has_block_each), of a block. With lists, of the longest one.
  std::uint64_t bytes = 0;
  // Either may be null where nothing is read or written. Results may come in place: in == out, or where `in` is one block and `out`
  // all of them or the other way round, this rank's block of these. Otherwise they do not overlap.
  const std::byte* in = nullptr;   // not of a broadcast
  std::byte* out = nullptr;        // of a broadcast, the root reads it
  reduction op{};                  // of what reduces
  // Blocks of unlike lengths: of an allgather and a reduce_scatter the same lengths in all members, given for all the blocks that
  // `out` or `in` has. An alltoallv has both pairs of lists always.
  std::shared_ptr<const block_lists> lists{};
  call_kind as = call_kind::none;  // the name it was called by, if that is not `of`

  call_record::what recorded() const noexcept;
  std::size_t element() const noexcept { return reduces(of) ? op.element_size : 1; }                  // bytes that stay together
  std::uint64_t alike_bytes() const noexcept { return of == collective::alltoallv ? 0 : bytes; }      // what all members know of them
};

std::uint64_t checksum(std::span<const std::uint64_t>) noexcept;

}  // namespace tutti
