// What the rows have in common in which data go from the caller's memory to the other caller's, with no copy between (data_layout::exposes).
//
// Words and slots of a rank: r, rank r tells where its data lie; word n + r, rank r has got what it needs of this rank. Each has one
// writer for ever. A rank leaves a run when all that read its memory have said so, and they say so when their reads are complete. So
// nobody reads memory that is its owner's again, and what was told has been read before its slot is written again: one set of words and
// slots is enough, whoever is ahead.
#pragma once
#include "collectives/price.h"

namespace tutti::direct {

inline std::uint32_t words(const shape& s) { return 2 * s.size; }
inline std::uint32_t slots(const shape& s) { return s.size; }

// Each rank gets a block of every other one: that which is for it, or, `one_for_all`, the one that there is.
schedule exchange(const shape&, bool one_for_all);
// All get from the root's `buffer` the block that is theirs, or, `one_for_all`, the one that there is.
schedule from_root(const shape&, std::uint32_t buffer, bool one_for_all);
// The root gets the block of each.
schedule to_root(const shape&);

// Of a closed form: what one rank takes in, block after block.
inline picoseconds taken(const form_input& in, std::uint32_t blocks) {
  const bool by_kernel = in.inside && in.all.mapped;
  const double rate = by_kernel ? in.all.fetched_bytes_per_ns : in.link.bytes_per_ns;
  return blocks * (for_bytes(in.bytes, rate) + (by_kernel ? in_picoseconds(in.all.fetch_us) : 2 * in.link.message()));
}

}  // namespace tutti::direct
