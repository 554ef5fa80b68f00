#include "providers/verbs/operations.h"

#include <arpa/inet.h>

#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

// What both an operation's work requests and their records are made of.
struct chain {
  std::array<ibv_send_wr, 3> wrs{};
  std::array<posted, 3> what{};
  std::array<ibv_sge, 3> sges{};
  std::uint32_t n = 0;

  ibv_send_wr& add(ibv_wr_opcode opcode, work kind) noexcept {
    ibv_send_wr& wr = wrs[n];
    wr.opcode = opcode;
    what[n].kind = kind;
    ++n;
    return wr;
  }
  void take_from(ibv_send_wr& wr, const void* address, std::uint32_t bytes, std::uint32_t lkey) noexcept {
    const std::size_t i = static_cast<std::size_t>(&wr - wrs.data());
    sges[i] = {reinterpret_cast<std::uint64_t>(address), bytes, lkey};
    wr.sg_list = &sges[i], wr.num_sge = 1;
  }
  void ring(rank_t self) noexcept {
    make_ring_request(add(IBV_WR_RDMA_WRITE_WITH_IMM, work::write), ring_kind::bell, self);
  }
};

status detached(rank_t rank) {
  return {errc::invalid, worded("memory that the operation names here or on rank ", rank, " is not, or no longer, exposed"), rank};
}

status too_many(std::uint32_t pieces, std::uint32_t most, rank_t rank) {
  return {errc::invalid, worded("a list of ", pieces, " slices, where this adapter takes ", most), rank};
}

// Adapters execute atomics, and write words whole, at multiples of 8 only. Offsets are (clause 13), but memory that was given
// to add() begins wherever it likes.
status misaligned(rank_t rank, std::uint64_t address) {
  return {errc::invalid, worded("the signal or atomic names a word of rank ", rank, " at an address that is ", address % 8,
                                " past a multiple of 8: add memory that begins at a multiple of 8"),
          rank};
}

bool is_put(op_kind k) noexcept { return k == op_kind::put || k == op_kind::signal || k == op_kind::put_signal; }
bool is_get(op_kind k) noexcept { return k == op_kind::get || k == op_kind::get_scatter; }

bool ends_at_once(const rma_op& op, peer& p, const status& outcome) noexcept {
  if (op.done) op.done->begin();
  p.tell(op.done, outcome);
  return true;
}

}  // namespace

bool operations::take(const rma_op& op) noexcept {
  peer* p = peers_.of(op.rank);
  if (!p) return false;
  if (!p->alive()) return ends_at_once(op, *p, p->life.end());
  return p->ready ? start(op, *p) : keep(op, *p);
}

bool operations::keep(const rma_op& op, peer& p) noexcept {
  if (!p.confirmed && !p.failing) {
    if (status s = peers_.want(p); s.failed()) return ends_at_once(op, p, s);
    if (!p.alive()) return ends_at_once(op, p, p.life.end());
    if (p.ready) return start(op, p);
  }
  return waiting_.keep(op, p);
}

void operations::begin_waiting() noexcept {
  if (!waiting_.any()) return;
  for (peer* p : peers_.lines())
    waiting_.pump(*p, [this](const rma_op& op, peer& to) { return start(op, to); });
}

bool operations::start(const rma_op& op, peer& p) noexcept {
  return is_put(op.kind) ? take_put(op, p) : is_get(op.kind) ? take_get(op, p) : take_atomic(op, p);
}

// What can be done later is refused now.
bool operations::ends_or_waits(const rma_op& op, peer& p, std::uint16_t buffers, status why) noexcept {
  bounce_.give_back(buffers, false);
  const bool later = why.ok() || (why.code() == errc::no_resource && bounce_.has_registrations());
  return later ? false : ends_at_once(op, p, status{why.code(), std::string{why.text()}, p.rank, why.native()});
}

bool operations::take_put(const rma_op& op, peer& p) noexcept {
  const bool has_payload = op.kind != op_kind::signal && op.bytes > 0, has_signal = op.kind != op_kind::put;
  if (!has_payload && !has_signal) return ends_at_once(op, p, {});
  const bool adds = has_signal && op.how == signal_how::add;
  const bool behind_everything = has_signal && op.order == not_before::everything;
  if (behind_everything && p.swaps) return false;
  if (!out_.has_room(p, has_payload + has_signal + (adds && p.rings))) return false;

  const target* to = has_payload ? target_of(op.remote, op.rank) : nullptr;
  const target* word = has_signal ? target_of(op.signal, op.rank) : nullptr;
  if ((has_payload && !to) || (has_signal && !word)) return ends_at_once(op, p, detached(op.rank));
  const std::uint64_t address = has_signal ? word->address + op.signal_offset : 0;
  if (address % 8) return ends_at_once(op, p, misaligned(op.rank, address));

  chain c;
  bool done = true;  // once posted, the source may be reused
  if (has_payload) {
    ibv_send_wr& wr = c.add(IBV_WR_RDMA_WRITE, work::write);
    wr.wr.rdma.remote_addr = to->address + op.remote_offset, wr.wr.rdma.rkey = to->rkey;
    if (op.bytes <= end_.limits().inline_bytes) {
      const std::byte* source = regions_.local(op.local, op.local_offset);
      if (!source) return ends_at_once(op, p, detached(op.rank));
      c.take_from(wr, source, op.bytes, 0);
      wr.send_flags = IBV_SEND_INLINE;
    } else {
      status why;
      wr.sg_list = &c.sges[0], wr.num_sge = 1;
      if (!bounce_.take({op.local, op.bytes, op.local_offset}, false, c.what[0], c.sges[0], why))
        return ends_or_waits(op, p, c.what[0].index, std::move(why));
      done = bounce_.copied(c.what[0].index);
    }
  }
  if (has_signal) {
    const auto fence = static_cast<unsigned>(behind_everything && p.out.reads_in_flight() ? IBV_SEND_FENCE : 0);
    if (adds) {
      ibv_send_wr& wr = c.add(IBV_WR_ATOMIC_FETCH_AND_ADD, work::atomic);
      wr.wr.atomic.remote_addr = address, wr.wr.atomic.rkey = word->word_rkey, wr.wr.atomic.compare_add = op.operand;
      c.sges[c.n - 1] = end_.added_landing(), wr.sg_list = &c.sges[c.n - 1], wr.num_sge = 1;
      wr.send_flags = fence;
      if (p.rings) c.ring(self_);
    } else {
      ibv_send_wr& wr = c.add(p.rings ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, work::write);
      wr.wr.rdma.remote_addr = address, wr.wr.rdma.rkey = word->word_rkey;
      c.take_from(wr, &op.operand, 8, 0);
      wr.send_flags = fence | IBV_SEND_INLINE;
      if (p.rings) wr.send_flags |= IBV_SEND_SOLICITED, wr.imm_data = htonl(make_ring(ring_kind::bell, self_));
    }
  }
  if (!done) c.what[c.n - 1].done = op.done;
  out_.post(p, {c.wrs.data(), c.n}, {c.what.data(), c.n});
  return !done || ends_at_once(op, p, {});
}

bool operations::take_get(const rma_op& op, peer& p) noexcept {
  const bool scattered = op.kind == op_kind::get_scatter;
  const slice whole{op.local, op.bytes, op.local_offset};
  const std::span<const slice> slices = scattered ? std::span{op.scatter, op.slices} : std::span{&whole, 1};
  std::uint32_t pieces = 0, plain = 0;
  for (const slice& s : slices) pieces += s.bytes > 0, plain += s.bytes > 0 && s.local == unregistered_memory;
  if (pieces == 0) return ends_at_once(op, p, {});
  const target* from = target_of(op.remote, op.rank);
  if (!from || pieces > end_.limits().slices) return ends_at_once(op, p, from ? too_many(pieces, end_.limits().slices, op.rank) : detached(op.rank));
  // Rather than to take some, and give them back: but one piece may lie in a region.
  if (!out_.has_room(p, 1) || (plain > 1 && plain > bounce_.free())) return false;

  chain c;
  ibv_send_wr& wr = c.add(IBV_WR_RDMA_READ, work::read);
  wr.wr.rdma.remote_addr = from->address + op.remote_offset, wr.wr.rdma.rkey = from->rkey;
  if (scattered) c.what[0].scatter = op.scatter, c.what[0].slices = op.slices;
  std::array<ibv_sge, most_slices> sges;
  wr.sg_list = sges.data();
  status why;
  for (const slice& s : slices)
    if (s.bytes && !bounce_.take(s, true, c.what[0], sges[static_cast<std::size_t>(wr.num_sge++)], why))
      return ends_or_waits(op, p, c.what[0].index, std::move(why));
  c.what[0].done = op.done;
  out_.post(p, {c.wrs.data(), 1}, {c.what.data(), 1});
  return true;
}

bool operations::take_atomic(const rma_op& op, peer& p) noexcept {
  const target* word = target_of(op.remote, op.rank);
  if (!word) return ends_at_once(op, p, detached(op.rank));
  const std::uint64_t address = word->address + op.remote_offset;
  if (address % 8) return ends_at_once(op, p, misaligned(op.rank, address));
  status why;
  if (op.kind == op_kind::swap) {
    if (swaps_.is_full() || !out_.has_room(p, 2)) return false;
    return swaps_.take(op, p, address, word->word_rkey, why) || ends_or_waits(op, p, 0, std::move(why));
  }
  if (!out_.has_room(p, 1 + p.rings)) return false;

  chain c;
  const bool adds = op.kind == op_kind::fetch_add;
  ibv_send_wr& wr = c.add(adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, work::atomic);
  wr.wr.atomic.remote_addr = address, wr.wr.atomic.rkey = word->word_rkey;
  wr.wr.atomic.compare_add = adds ? op.operand : op.expected;
  wr.wr.atomic.swap = adds ? 0 : op.operand;
  wr.sg_list = &c.sges[0], wr.num_sge = 1;
  if (!bounce_.take_for_answer(op, c.what[0], c.sges[0], why)) return ends_or_waits(op, p, c.what[0].index, std::move(why));
  c.what[0].done = op.done;
  if (p.rings) c.ring(self_);
  out_.post(p, {c.wrs.data(), c.n}, {c.what.data(), c.n});
  return true;
}

bool operations::flush(rank_t rank, completion* done) noexcept {
  peer* one = rank == no_rank ? nullptr : peers_.of(rank);
  if (rank != no_rank && !one) return false;
  const std::span<peer* const> peers = one ? std::span<peer* const>{&one, 1} : peers_.lines();

  // Something was posted since the last flush that has ended.
  const auto is_owed = [](const peer& p) { return p.alive() && p.out.is_open() && (p.flushes || p.out.head() != p.flushed); };
  std::uint32_t owed = 0;
  if (!one && waiting_.any()) return false;  // some of those with a backlog are in no line yet
  for (const peer* p : peers) {
    if (p->failing || p->swaps || p->waiting || (is_owed(*p) && !out_.has_room(*p, 1))) return false;
    owed += is_owed(*p);
  }
  if (!out_.has_room_for(owed)) return false;

  const auto ends = [&](const status& outcome) {
    if (!done) return;
    done->begin();
    done->finish(outcome);
  };
  for (peer* p : peers) {
    if (p->unreported.failed()) ends(std::exchange(p->unreported, {}));
    else if (!p->alive() && one) ends(p->life.end());
    if (is_owed(*p)) post_flush(*p, done);
  }
  return true;
}

void operations::post_flush(peer& p, completion* done) noexcept {
  const address_blob there = peers_.address_of(p.rank);
  ibv_sge sge = end_.landing();
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_RDMA_READ;
  wr.sg_list = &sge, wr.num_sge = 1;
  wr.wr.rdma.remote_addr = there.probe_address, wr.wr.rdma.rkey = there.probe_rkey;
  posted what;
  what.kind = work::flush, what.done = done;
  ++p.flushes;
  out_.post(p, {&wr, 1}, {&what, 1});
  p.flushed = p.out.head();
}

result<segment_id> operations::attach(const rank_map& members, shared_blobs keys, std::uint32_t job_size) {
  return segments_.attach(members, keys, job_size, "verbs", false, [](target& t, std::span<const std::byte> key) {
    const auto k = blob_as<key_blob>(key);
    if (k) t = {k->address, k->bytes, k->rkey, k->word_rkey, k->region};
    return k.has_value();
  });
}

void operations::forget_region(region_id id) noexcept {
  segments_.each_of(self_, [&](target& mine) {
    if (mine.region == static_cast<std::uint32_t>(id)) mine = {};
  });
}

}  // namespace tutti::verbs
