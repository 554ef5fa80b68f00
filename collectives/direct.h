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

// Tells `to` where my block lies.
inline void expose(schedule& out, const shape& s, std::uint32_t to, std::uint32_t block, std::uint32_t buffer) {
  step& st = out.move(step_kind::expose, to, block, {buffer}, {staging, s.rank});
  st.word = s.rank;
}
// Begins to get the block of `from` that it tells of.
inline void fetch(schedule& out, std::uint32_t from, std::uint32_t block) {
  out.await(from, from, block);
  out.move(step_kind::fetch, from, block, {staging, from}, {data_out});
}
// All that was fetched is here: `from` is told so.
inline void release(schedule& out, const shape& s, std::uint32_t from, std::uint32_t block) {
  step& st = out.add(step_kind::signal, from, s.size + s.rank);
  st.block = block, st.count = 1, st.from.buffer = data_out;
}
inline void await_release(schedule& out, const shape& s, std::uint32_t by, std::uint32_t block, std::uint32_t buffer) {
  step& st = out.add(step_kind::wait, by, s.size + by);
  st.block = block, st.count = 1, st.from.buffer = buffer;
}

// Of a closed form: what one rank takes in, block after block.
inline picoseconds taken(const form_input& in, std::uint32_t blocks) {
  const bool by_kernel = in.inside && in.all.mapped;
  const double rate = by_kernel ? in.all.fetched_bytes_per_ns : in.link.bytes_per_ns;
  return blocks * (for_bytes(in.bytes, rate) + (by_kernel ? in_picoseconds(in.all.fetch_us) : 2 * in.link.message()));
}

}  // namespace tutti::direct
