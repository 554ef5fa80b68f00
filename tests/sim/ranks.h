// What every test of the simulated world needs: ranks with one region each, attached as one segment, and operations in
// one line.
#pragma once
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

#include "providers/sim/sim.h"

namespace tutti::test {

inline void need(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}
template <class T>
T need(result<T> r) {
  need(r.ok(), r.error().text());
  return std::move(*r);
}

struct rank_memory {
  std::span<std::byte> bytes;
  region_id region{};
  segment_id all{};

  std::uint64_t word(std::size_t i) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(bytes.data() + 8 * i)).load(std::memory_order_acquire);
  }
};

// One region of `bytes` in each rank of the world, attached everywhere.
inline std::vector<rank_memory> expose(sim::world& w, std::size_t bytes) {
  std::vector<rank_memory> m(w.size());
  const status s = w.exchange(
      [&](rank_t r) -> result<std::vector<std::byte>> {
        auto region = w.net(r).allocate(bytes, m[r].bytes);
        if (!region.ok()) return region.error();
        m[r].region = *region;
        return w.net(r).key(*region);
      },
      [&](rank_t r, const shared_blobs& keys) -> status {
        auto all = w.net(r).attach(rank_map::strided(0, w.size()), keys);
        if (all.ok()) m[r].all = *all;
        return all.error();
      });
  need(s.ok(), s.text());
  return m;
}

inline rma_op signal_op(rank_t to, segment_id seg, std::size_t word, std::uint64_t value,
                        signal_how how = signal_how::set) {
  rma_op op{op_kind::signal};
  op.how = how, op.rank = to, op.signal = seg, op.signal_offset = 8 * word, op.operand = value;
  return op;
}
inline rma_op put_op(rank_t to, segment_id seg, const void* from, std::uint64_t offset, std::uint32_t bytes,
                     completion* done) {
  rma_op op{op_kind::put};
  op.rank = to, op.remote = seg, op.remote_offset = offset, op.bytes = bytes, op.done = done;
  op.local_offset = reinterpret_cast<std::uintptr_t>(from);
  return op;
}
inline rma_op get_op(rank_t from, segment_id seg, void* to, std::uint64_t offset, std::uint32_t bytes, completion* done) {
  rma_op op = put_op(from, seg, to, offset, bytes, done);
  op.kind = op_kind::get;
  return op;
}
inline rma_op fetch_add_op(rank_t to, segment_id seg, std::size_t word, std::uint64_t n, std::uint64_t* old,
                           completion* done) {
  rma_op op = put_op(to, seg, old, 8 * word, 0, done);
  op.kind = op_kind::fetch_add, op.operand = n;
  return op;
}

inline void send(transport& t, const rma_op& op) {
  while (!t.submit({&op, 1})) t.progress();
}
// Blocks in sleep(), as an engine does: look, arm, look again, sleep.
template <class Holds>
void sleep_until(transport& t, Holds holds, time_point deadline = time_point::max()) {
  while (!holds() && t.now() < deadline) {
    t.progress();
    if (holds()) return;
    armed open = t.arm();
    if (!open) continue;
    if (holds()) return t.disarm();
    t.sleep(std::move(open), deadline);
  }
}
inline void complete(transport& t, completion& c) { sleep_until(t, [&] { return c.idle(); }); }

inline double us(time_point t) { return static_cast<double>(t.time_since_epoch().count()) / 1000.0; }

}  // namespace tutti::test
