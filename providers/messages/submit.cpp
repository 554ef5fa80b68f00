// Operations as they are taken: done at once where memory is mapped, else handed on as messages.
#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

constexpr std::uint32_t operations_between_looks = 1024;  // at the processes of peers, which costs a system call

std::uint64_t* word_at(std::byte* base, std::uint64_t offset) noexcept {
  return reinterpret_cast<std::uint64_t*>(base + offset);
}

message_kind atomic_of(op_kind kind) noexcept {
  return kind == op_kind::fetch_add      ? message_kind::fetch_add
         : kind == op_kind::compare_swap ? message_kind::compare_swap
                                         : message_kind::swap;
}

status detached(rank_t rank) {
  const std::string where = "here or on rank " + std::to_string(rank);
  return {errc::invalid, "memory that the operation names " + where + " is not, or no longer, registered", rank};
}

}  // namespace

std::size_t message_transport::submit(std::span<const rma_op> ops) noexcept {
  // Stores into the memory of a dead process succeed, so that one who only stores would never call progress().
  submitted_ += static_cast<std::uint32_t>(ops.size());
  if (submitted_ >= operations_between_looks) {
    submitted_ = 0;
    look_for_deaths();
  }
  std::size_t taken = 0;
  while (taken < ops.size() && take(ops[taken])) ++taken;
  // An operation upon this rank itself, or a completion, between arm() and sleep() must end that sleep.
  if (sleep_.armed() && taken) end_sleep();
  return taken;
}

bool message_transport::take(const rma_op& op) noexcept {
  peer* p = peer_of(op.rank);
  if (!p) return false;
  if (!p->alive()) return ends_at_once(op, *p, p->life.end());
  switch (op.kind) {
    case op_kind::put:
    case op_kind::signal:
    case op_kind::put_signal: return take_put(op, *p);
    case op_kind::get:
    case op_kind::get_scatter: return take_get(op, *p);
    case op_kind::fetch_add:
    case op_kind::compare_swap:
    case op_kind::swap: return take_atomic(op, *p);
  }
  return ends_at_once(op, *p, {errc::invalid, "there is no such operation", op.rank});
}

void message_transport::counts_in(frame& f, completion* done) noexcept {
  f.op.done = done;
  if (done) done->begin();
}

bool message_transport::ends_at_once(const rma_op& op, peer& p, const status& outcome) noexcept {
  if (op.done) {
    op.done->begin();
    outcome.ok() ? op.done->finish() : op.done->finish(outcome);
  } else if (outcome.failed() && p.unreported.ok()) {
    p.unreported = outcome;
  }
  return true;
}

bool message_transport::take_put(const rma_op& op, peer& p) noexcept {
  const bool has_payload = op.kind != op_kind::signal && op.bytes > 0, has_signal = op.kind != op_kind::put;
  const member* to = has_payload ? &view(op.remote, op.rank) : nullptr;
  const member* word = has_signal ? &view(op.signal, op.rank) : nullptr;
  const std::byte* source = has_payload ? regions_.local(op.local, op.local_offset) : nullptr;
  if (!p.alive()) return ends_at_once(op, p, p.life.end());  // it could not be reached
  if ((to && (to->absent || !source)) || (word && word->absent)) return ends_at_once(op, p, detached(op.rank));
  if (by_key(to, op.bytes) || by_key(word, 0)) return take_put_by_key(op, p, to, word, source);

  const bool direct_payload = to && to->mapped;
  const bool direct_signal = word && word->mapped && !p.unapplied() && (!to || to->mapped);
  frame* f = nullptr;
  if ((to && !direct_payload) || (word && !direct_signal)) {
    f = new_frame(p, message_kind::put);
    if (!f) return false;
  }
  if (direct_payload) std::memcpy(to->mapped + op.remote_offset, source, op.bytes);
  if (direct_signal) {
    apply_signal(word_at(word->mapped, op.signal_offset), op.how == signal_how::add, op.operand);
    ring(p);
  }
  if (!f) return ends_at_once(op, p, {});
  say_put(*f, op, direct_payload ? nullptr : to, direct_signal ? nullptr : word, source,
          word && word->mapped && !direct_signal);
  return true;
}

// What is left of a put for a message: payload, signal or both.
void message_transport::say_put(frame& f, const rma_op& op, const member* to, const member* word, const std::byte* source,
                                bool detour) noexcept {
  peer& p = *f.to;
  f.op = op;
  counts_in(f, op.done);
  if (to) {
    f.head.region = to->region, f.head.offset = op.remote_offset;
    f.source = source, f.left = op.bytes;
    if (op.local == unregistered_memory && op.bytes <= max_inline) {
      std::memcpy(f.small, source, op.bytes);
      f.source = f.small;
    }
  }
  if (word) {
    f.head.signal_region = word->region, f.head.signal_offset = op.signal_offset, f.head.operand = op.operand;
    if (op.how == signal_how::add) f.head.flags = signal_adds;
    f.signals = true;
    std::atomic_thread_fence(std::memory_order_release);  // a payload that was stored directly
  }
  ++p.traffic;
  queue(f);
  if (detour && p.alive() && !p.marking) {  // ask, so that later signals may go directly again
    if (frame* mark = new_request(p, message_kind::mark)) {
      p.marking = mark->marks = true;
      mark->traffic = p.traffic;
      queue(*mark);
    }
  }
}

bool message_transport::take_get(const rma_op& op, peer& p) noexcept {
  rma_op want = op;
  if (op.kind == op_kind::get_scatter) {
    want.bytes = 0;
    for (unsigned i = 0; i < op.slices; ++i) want.bytes += op.scatter[i].bytes;
  }
  if (want.bytes == 0) return ends_at_once(op, p, {});
  const member& from = view(op.remote, op.rank);
  if (!p.alive()) return ends_at_once(op, p, p.life.end());
  if (from.absent) return ends_at_once(op, p, detached(op.rank));
  if (by_key(&from, want.bytes)) return take_get_by_key(want, p, from);
  if (from.mapped) {
    std::atomic_thread_fence(std::memory_order_acquire);
    land(want, 0, {from.mapped + op.remote_offset, want.bytes});
    return ends_at_once(op, p, {});
  }
  frame* f = new_request(p, message_kind::get);
  if (!f) return false;
  f->op = want;
  counts_in(*f, op.done);
  f->head.region = from.region, f->head.offset = op.remote_offset, f->head.bytes = want.bytes;
  queue(*f);
  return true;
}

bool message_transport::take_atomic(const rma_op& op, peer& p) noexcept {
  const member& at = view(op.remote, op.rank);
  if (!p.alive()) return ends_at_once(op, p, p.life.end());
  if (at.absent) return ends_at_once(op, p, detached(op.rank));
  const message_kind kind = atomic_of(op.kind);
  if (at.mapped) {
    const std::uint64_t old = apply_atomic(kind, word_at(at.mapped, op.remote_offset), op.operand, op.expected);
    ring(p);
    rma_op result = op;
    result.kind = op_kind::get, result.bytes = sizeof old;
    land(result, 0, std::as_bytes(std::span{&old, 1}));
    return ends_at_once(op, p, {});
  }
  frame* f = new_request(p, kind);
  if (!f) return false;
  f->op = op;
  f->op.bytes = sizeof(std::uint64_t);
  counts_in(*f, op.done);
  f->head.region = at.region, f->head.offset = op.remote_offset;
  f->head.operand = op.operand;
  f->head.signal_offset = op.kind == op_kind::compare_swap ? op.expected : 0;
  f->traffic = ++p.traffic;  // who has the answer knows that everything before was applied
  queue(*f);
  return true;
}

// After a store into a peer's memory. The peer makes its doze word odd before it looks at its words for the last time
// and sleeps; this rank stored before it looks at the doze word. Both have a full fence between, so at least one of the
// two sees the other's store. One message for each sleep is enough.
void message_transport::ring(peer& p) noexcept {
  if (!p.doze) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t doze = std::atomic_ref<std::uint64_t>{*p.doze}.load(std::memory_order_relaxed);
  if (!(doze & 1) || doze == p.rung || p.ringing.to) return;
  p.rung = doze;
  p.ringing.to = &p;
  p.ringing.head.kind = message_kind::bell;
  queue(p.ringing);
}

// Everything that went by message is applied when a mark that followed it was; what went by key is flushed; the rest is
// applied already.
bool message_transport::flush(rank_t rank, completion* done) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  peer* one = rank == no_rank ? nullptr : peer_of(rank);
  if (rank != no_rank && !one) return false;
  const std::span<peer* const> all{open_};
  const std::span<peer* const> peers = one ? std::span<peer* const>{&one, 1} : all;

  std::uint32_t needed = 0;
  for (const peer* p : peers) {
    if (!p->alive()) continue;
    const std::uint32_t marks = p->unapplied(), flushes = p->unplaced();
    if (marks && p->unanswered >= request_limit) return false;
    if (p->queue.size() + p->under_way + marks + flushes > queue_limit) return false;
    needed += marks + flushes;
  }
  if (frames_.busy() + needed > pool_frames) return false;

  const auto ends = [&](const status& outcome) {
    if (!done) return;
    done->begin();
    outcome.ok() ? done->finish() : done->finish(outcome);
  };
  bool pending = false;
  for (peer* p : peers) {
    if (p->unreported.failed()) {
      ends(std::exchange(p->unreported, {}));
      pending = true;
    } else if (!p->alive() && (one || p->unapplied() || p->unplaced())) {
      ends(p->life.end());
      p->applied = p->traffic, p->placed = p->writes;  // reported
      pending = true;
    } else if (p->alive()) {
      if (p->unapplied()) {
        frame* mark = new_request(*p, message_kind::mark);
        counts_in(*mark, done);
        mark->traffic = p->traffic;
        queue(*mark);
        pending = true;
      }
      if (p->unplaced()) {
        frame* f = new_frame(*p, {});
        f->what = frame_kind::flush;
        counts_in(*f, done);
        if (p->held) queue(*f);  // behind the signals that wait
        else start_flush(*f);
        pending = true;
      }
    }
  }
  if (!pending) ends({});
  if (sleep_.armed()) end_sleep();
  return true;
}

}  // namespace tutti::messages
