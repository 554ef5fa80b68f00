#include "collectives/direct.h"

namespace tutti::direct {
namespace {

// Tells `to` where my block lies.
void expose(schedule& out, const shape& s, std::uint32_t to, std::uint32_t block, std::uint32_t buffer) {
  out.move(step_kind::expose, to, block, {buffer}, {staging, s.rank}).word = s.rank;
}
// Begins to get the block of `from` that it tells of.
void fetch(schedule& out, std::uint32_t from, std::uint32_t block) {
  out.await(from, from, block);
  out.move(step_kind::fetch, from, block, {staging, from}, {data_out});
}
void about(step& st, std::uint32_t block, std::uint32_t buffer) { st.block = block, st.count = 1, st.from.buffer = buffer; }
// What was fetched from it is here.
void release(schedule& out, const shape& s, std::uint32_t from, std::uint32_t block) {
  about(out.add(step_kind::signal, from, s.size + s.rank), block, data_out);
}
void await_release(schedule& out, const shape& s, std::uint32_t by, std::uint32_t block, std::uint32_t buffer) {
  about(out.add(step_kind::wait, by, s.size + by), block, buffer);
}

// f(member) for the others, the right neighbour first.
template <class F>
void each_other(const shape& s, F f) {
  for (std::uint32_t k = 1; k < s.size; ++k) f((s.rank + k) % s.size);
}

}  // namespace

schedule exchange(const shape& s, bool one_for_all) {
  schedule out;
  out.words = words(s);
  const auto mine_for = [&](std::uint32_t to) { return one_for_all ? s.rank : to; };
  each_other(s, [&](std::uint32_t to) { expose(out, s, to, mine_for(to), data_in); });
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  each_other(s, [&](std::uint32_t from) { fetch(out, from, from); });
  out.add(step_kind::complete, any_peer);
  each_other(s, [&](std::uint32_t from) { release(out, s, from, from); });
  each_other(s, [&](std::uint32_t to) { await_release(out, s, to, mine_for(to), data_in); });
  return out;
}

schedule from_root(const shape& s, std::uint32_t buffer, bool one_for_all) {
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

schedule to_root(const shape& s) {
  schedule out;
  out.words = words(s);
  if (s.rank != s.root) {
    expose(out, s, s.root, s.rank, data_in);
    out.add(step_kind::complete, any_peer);
    await_release(out, s, s.root, s.rank, data_in);
    return out;
  }
  out.local(step_kind::copy, s.rank, {data_in}, {data_out});
  each_other(s, [&](std::uint32_t from) { fetch(out, from, from); });
  out.add(step_kind::complete, any_peer);
  each_other(s, [&](std::uint32_t from) { release(out, s, from, from); });
  return out;
}

}  // namespace tutti::direct
