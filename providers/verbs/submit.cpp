// Operations as they are taken: work requests on the peer's queue pair.
#include <arpa/inet.h>
#include <sys/eventfd.h>

#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

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
    ibv_send_wr& wr = add(IBV_WR_RDMA_WRITE_WITH_IMM, work::write);
    wr.imm_data = htonl(make_ring(ring_kind::bell, self));
    wr.send_flags = IBV_SEND_SOLICITED;
  }
};

status detached(rank_t rank) {
  const std::string where = "here or on rank " + std::to_string(rank);
  return {errc::invalid, "memory that the operation names " + where + " is not, or no longer, exposed", rank};
}

status too_many(std::uint32_t pieces, std::uint32_t most, rank_t rank) {
  return {errc::invalid, "a list of " + std::to_string(pieces) + " slices, where this adapter takes " + std::to_string(most), rank};
}

// Adapters execute atomics, and write words whole, at multiples of 8 only. Offsets are (clause 13), but memory that was given
// to add() begins wherever it likes.
status misaligned(rank_t rank, std::uint64_t address) {
  return {errc::invalid, "the signal or atomic names a word of rank " + std::to_string(rank) + " at an address that is " +
                             std::to_string(address % 8) + " past a multiple of 8: add memory that begins at a multiple of 8",
          rank};
}

bool is_put(op_kind k) noexcept { return k == op_kind::put || k == op_kind::signal || k == op_kind::put_signal; }
bool is_get(op_kind k) noexcept { return k == op_kind::get || k == op_kind::get_scatter; }

}  // namespace

std::size_t verbs_transport::submit(std::span<const rma_op> ops) noexcept {
  std::size_t taken = 0;
  while (taken < ops.size() && take(ops[taken])) ++taken;
  // What ended at once, between arm() and sleep(), must end that sleep.
  if (sleep_.armed() && taken) ::eventfd_write(notify_.get(), 1);
  return taken;
}

bool verbs_transport::take(const rma_op& op) noexcept {
  peer* p = peer_of(op.rank);
  if (!p) return false;
  if (!p->alive()) return ends_at_once(op, *p, p->life.end());
  return p->ready ? start(op, *p) : put_by(op, *p);
}

bool verbs_transport::start(const rma_op& op, peer& p) noexcept {
  return is_put(op.kind) ? take_put(op, p) : is_get(op.kind) ? take_get(op, p) : take_atomic(op, p);
}

bool verbs_transport::ends_at_once(const rma_op& op, peer& p, const status& outcome) noexcept {
  if (op.done) op.done->begin();
  tell(p, op.done, outcome);
  return true;
}

bool verbs_transport::has_room(const peer& p, std::uint32_t requests) const noexcept {
  return p.out.room() >= requests + kept_for_rings && in_flight_ + requests <= total_depth;
}

void verbs_transport::use(const posted& what, int how) noexcept {
  regions_.use(what.local, how);
  for (unsigned i = 0; i < what.slices; ++i) regions_.use(what.scatter[i].local, how);
}

// What can be done later is refused now.
bool verbs_transport::ends_or_waits(const rma_op& op, peer& p, std::uint16_t buffers, status why) noexcept {
  bounce_.give_back(buffers, false);
  const bool later = why.ok() || (why.code() == errc::no_resource && bounce_.has_registrations());
  return later ? false : ends_at_once(op, p, status{why.code(), std::string{why.text()}, p.rank, why.native()});
}

// Takes over the completion that what[...].done names. What cannot even be posted ends like what fails later.
void verbs_transport::post(peer& p, std::span<ibv_send_wr> wrs, std::span<const posted> what) noexcept {
  for (const posted& w : what)
    if (w.done && w.kind != work::swap) w.done->begin();
  const int error = p.out.post(wrs, what);
  if (!error) {
    in_flight_ += static_cast<std::uint32_t>(what.size());
    for (const posted& w : what) use(w, 1);
    return;
  }
  const status why = os_error("posting to rank " + std::to_string(p.rank), error, p.rank);
  for (const posted& w : what) ended(p, w, why);
  fail(p, why);
}

bool verbs_transport::take_put(const rma_op& op, peer& p) noexcept {
  const bool has_payload = op.kind != op_kind::signal && op.bytes > 0, has_signal = op.kind != op_kind::put;
  if (!has_payload && !has_signal) return ends_at_once(op, p, {});
  const bool adds = has_signal && op.how == signal_how::add;
  const bool behind_everything = has_signal && op.order == not_before::everything;
  if (behind_everything && p.swaps) return false;
  if (!has_room(p, has_payload + has_signal + (adds && p.rings))) return false;

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
    if (op.bytes <= limits_.inline_bytes) {
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
      c.take_from(wr, scratch_.base + 16, 8, scratch_.words->lkey);
      wr.send_flags = fence;
      if (p.rings) c.ring(rank_);
    } else {
      ibv_send_wr& wr = c.add(p.rings ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, work::write);
      wr.wr.rdma.remote_addr = address, wr.wr.rdma.rkey = word->word_rkey;
      c.take_from(wr, &op.operand, 8, 0);
      wr.send_flags = fence | IBV_SEND_INLINE;
      if (p.rings) wr.send_flags |= IBV_SEND_SOLICITED, wr.imm_data = htonl(make_ring(ring_kind::bell, rank_));
    }
  }
  if (!done) c.what[c.n - 1].done = op.done;
  post(p, {c.wrs.data(), c.n}, {c.what.data(), c.n});
  return !done || ends_at_once(op, p, {});
}

bool verbs_transport::take_get(const rma_op& op, peer& p) noexcept {
  const bool scattered = op.kind == op_kind::get_scatter;
  const slice whole{op.local, op.bytes, op.local_offset};
  const std::span<const slice> slices = scattered ? std::span{op.scatter, op.slices} : std::span{&whole, 1};
  std::uint32_t pieces = 0, plain = 0;
  for (const slice& s : slices) pieces += s.bytes > 0, plain += s.bytes > 0 && s.local == unregistered_memory;
  if (pieces == 0) return ends_at_once(op, p, {});
  const target* from = target_of(op.remote, op.rank);
  if (!from || pieces > limits_.slices) return ends_at_once(op, p, from ? too_many(pieces, limits_.slices, op.rank) : detached(op.rank));
  // Rather than to take some, and give them back: but one piece may lie in a region.
  if (!has_room(p, 1) || (plain > 1 && plain > bounce_.free())) return false;

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
  post(p, {c.wrs.data(), 1}, {c.what.data(), 1});
  return true;
}

bool verbs_transport::take_atomic(const rma_op& op, peer& p) noexcept {
  const target* word = target_of(op.remote, op.rank);
  if (!word) return ends_at_once(op, p, detached(op.rank));
  const std::uint64_t address = word->address + op.remote_offset;
  if (address % 8) return ends_at_once(op, p, misaligned(op.rank, address));
  if (op.kind == op_kind::swap) return take_swap(op, p, *word);
  if (!has_room(p, 1 + p.rings)) return false;

  chain c;
  const bool adds = op.kind == op_kind::fetch_add;
  ibv_send_wr& wr = c.add(adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP, work::atomic);
  wr.wr.atomic.remote_addr = address, wr.wr.atomic.rkey = word->word_rkey;
  wr.wr.atomic.compare_add = adds ? op.operand : op.expected;
  wr.wr.atomic.swap = adds ? 0 : op.operand;
  wr.sg_list = &c.sges[0], wr.num_sge = 1;
  status why;
  if (!bounce_.take_for_answer(op, c.what[0], c.sges[0], why)) return ends_or_waits(op, p, c.what[0].index, std::move(why));
  c.what[0].done = op.done;
  if (p.rings) c.ring(rank_);
  post(p, {c.wrs.data(), c.n}, {c.what.data(), c.n});
  return true;
}

}  // namespace tutti::verbs
