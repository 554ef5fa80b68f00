// Data that go from the caller's memory to the other caller's, with no copy between (data_layout::exposes): the schedules, and the rows of
// those collectives that have one. Copies of each block: one, by the fabric or the kernel.
//
// Words and slots of a rank: r, rank r tells where its data lie; word n + r, rank r has got what it needs of this rank. Each has one
// writer for ever. A rank leaves a run when all that read its memory have said so, and they say so when their reads are complete. So
// nobody reads memory that is its owner's again, and what was told has been read before its slot is written again: one set of words and
// slots is enough, whoever is ahead.
//
// Members of an alltoallv (gatherv, scatterv, neighbourhoods) between which nothing goes in a run say nothing, and count runs by pairs, as in
// alltoall/unlike.cpp. For a result of an alltoall in place the ranks expose a copy.
#include "collectives/price.h"

namespace tutti::direct {
namespace {

std::uint32_t words(const shape& s) { return 2 * s.size; }
std::uint32_t each(const shape& s) { return s.size; }
std::uint32_t one(const shape&) { return 1; }

// Tells `to` where my block lies.
void expose(schedule& out, const shape& s, std::uint32_t to, std::uint32_t block, std::uint32_t buffer) {
  out.move(step_kind::expose, to, block, {buffer}, {staging, s.rank}).word = s.rank;
}
// Begins to get the block of `from` that it tells of.
void fetch(schedule& out, std::uint32_t from, std::uint32_t block) {
  out.await(from, from, block);
  out.move(step_kind::fetch, from, block, {staging, from}, {data_out});
}
// What was fetched from it is here.
void release(schedule& out, const shape& s, std::uint32_t from, std::uint32_t block) {
  out.add(step_kind::signal, from, s.size + s.rank).about(block, data_out);
}
void await_release(schedule& out, const shape& s, std::uint32_t by, std::uint32_t block, std::uint32_t buffer) {
  out.add(step_kind::wait, by, s.size + by).about(block, buffer);
}

// f(member) for the others, the right neighbour first.
template <class F>
void each_other(const shape& s, F f) {
  for (std::uint32_t k = 1; k < s.size; ++k) f((s.rank + k) % s.size);
}

// Each rank gets a block of every other one: that which is for it, or, `one_for_all`, the one that there is.
template <bool one_for_all>
schedule exchange(const shape& s) {
  schedule out;
  out.words = words(s);
  const auto mine_for = [&](std::uint32_t to) { return one_for_all ? s.rank : to; };
  each_other(s, [&](std::uint32_t to) { expose(out, s, to, mine_for(to), data_in); });
  each_other(s, [&](std::uint32_t from) { fetch(out, from, from); });
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  out.add(step_kind::complete, any_peer);
  each_other(s, [&](std::uint32_t from) { release(out, s, from, from); });
  each_other(s, [&](std::uint32_t to) { await_release(out, s, to, mine_for(to), data_in); });
  return out;
}

// All get from the root the block that is theirs; or, of a broadcast, the one that there is.
template <bool one_for_all>
schedule from_root(const shape& s) {
  constexpr std::uint32_t buffer = one_for_all ? data_out : data_in;
  schedule out;
  out.words = words(s);
  const auto block_of = [&](std::uint32_t member) { return one_for_all ? 0 : member; };
  if (s.rank != s.root) {
    fetch(out, s.root, block_of(s.rank));
    out.add(step_kind::complete, any_peer);
    release(out, s, s.root, block_of(s.rank));
    return out;
  }
  each_other(s, [&](std::uint32_t to) { expose(out, s, to, block_of(to), buffer); });
  if (buffer == data_in) out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  out.add(step_kind::complete, any_peer);
  each_other(s, [&](std::uint32_t to) { await_release(out, s, to, block_of(to), buffer); });
  return out;
}

// The root gets the block of each.
schedule to_root(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.rank != s.root) {
    expose(out, s, s.root, s.rank, data_in);
    out.add(step_kind::complete, any_peer);
    await_release(out, s, s.root, s.rank, data_in);
    return out;
  }
  each_other(s, [&](std::uint32_t from) { fetch(out, from, from); });
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  out.add(step_kind::complete, any_peer);
  each_other(s, [&](std::uint32_t from) { release(out, s, from, from); });
  return out;
}

// What one rank takes in, block after block.
picoseconds taken(const form_input& in, std::uint32_t blocks) {
  const bool by_kernel = in.inside && in.all.mapped;
  const double rate = by_kernel ? in.all.fetched_bytes_per_ns : in.link.bytes_per_ns;
  return blocks * (for_bytes(in.bytes, rate) + (by_kernel ? in_picoseconds(in.all.fetch_us) : 2 * in.link.message()));
}
picoseconds chain_of_all(const form_input& in) { return 2 * hop(in, in.size - 1) + taken(in, in.size - 1); }
picoseconds chain_to_root(const form_input& in) { return 2 * hop(in, 1) + taken(in, in.size - 1); }
picoseconds chain_of_blocks(const form_input& in) { return 2 * hop(in, in.size - 1) + taken(in, 1); }
picoseconds chain_of_broadcast(const form_input& in) { return 2 * hop(in, in.size - 1) + taken(in, in.inside ? 1 : in.size - 1); }
std::int64_t with_root(const form_input& in) { return 2 * (in.size - 1); }
std::int64_t among_all(const form_input& in) { return 2 * std::int64_t{in.size} * (in.size - 1); }

constexpr variant variants[] = {{.reason = "no copy in between"}};

constexpr algorithm row(collective of, std::string_view summary, schedule (*make)(const shape&), picoseconds (*chain)(const form_input&),
                        std::int64_t (*messages)(const form_input&)) {
  return {.of = of,
          .name = "direct",
          .summary = summary,
          .source = "Ma et al. 2011 (one copy by the kernel)",
          .data = {.blocks = of == collective::broadcast ? one : each, .slots = each, .exposes = true},
          .variants = variants,
          .words = words,
          .make = make,
          .form = {chain, messages}};
}

}  // namespace

extern const algorithm broadcast, gather, scatter, allgather, alltoall, alltoallv;
constinit const algorithm broadcast =
    row(collective::broadcast, "each rank gets the data out of the root's own memory", from_root<true>, chain_of_broadcast, with_root);
constinit const algorithm gather =
    row(collective::gather, "the root gets the blocks out of the others' own memory", to_root, chain_to_root, with_root);
constinit const algorithm scatter =
    row(collective::scatter, "each rank gets its block out of the root's own memory", from_root<false>, chain_of_blocks, with_root);
constinit const algorithm allgather =
    row(collective::allgather, "each rank gets the blocks out of the others' own memory", exchange<true>, chain_of_all, among_all);
constinit const algorithm alltoall =
    row(collective::alltoall, "each rank gets its blocks out of the others' own memory", exchange<false>, chain_of_all, among_all);
constinit const algorithm alltoallv =
    row(collective::alltoallv, "each rank gets its blocks out of the others' own memory", exchange<false>, chain_of_all, among_all);

}  // namespace tutti::direct
