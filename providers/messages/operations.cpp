#include "providers/messages/operations.h"

#include <atomic>
#include <cstring>

#include "core/base/copy.h"
#include "providers/messages/doze.h"

namespace tutti::messages {
namespace {

std::uint64_t* word_at(std::byte* base, std::uint64_t offset) noexcept {
  return reinterpret_cast<std::uint64_t*>(base + offset);
}

message_kind atomic_of(op_kind kind) noexcept {
  return kind == op_kind::fetch_add      ? message_kind::fetch_add
         : kind == op_kind::compare_swap ? message_kind::compare_swap
                                         : message_kind::swap;
}

status detached(rank_t rank) {
  return {errc::invalid, worded("memory that the operation names here or on rank ", rank, " is not, or no longer, registered"),
                                rank};
}

void counts_in(frame& f, completion* done) noexcept {
  f.op.done = done;
  if (done) done->begin();
}

bool ends_at_once(const rma_op& op, peer& p, const status& outcome) noexcept {
  if (!op.done) return p.report(outcome), true;
  op.done->begin();
  op.done->finish(outcome);
  return true;
}

// The source of a put from unregistered memory, which may be reused at once.
const std::byte* copied(frame& f, const rma_op& op, const std::byte* source) noexcept {
  if (op.local != unregistered_memory || op.bytes > max_inline) return source;
  std::memcpy(f.small, source, op.bytes);
  return f.small;
}

}  // namespace

member& operations::first_view(member& m, segment_id id, rank_t rank) noexcept {
  if (peer* p = peers_.of(rank)) {
    peers_.open_endpoint(*p);
    members_.resolve(m, id, *p);
  }
  return m;
}

bool operations::take(const rma_op& op) noexcept {
  peer* p = peers_.of(op.rank);
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

bool operations::take_put(const rma_op& op, peer& p) noexcept {
  const bool has_payload = op.kind != op_kind::signal && op.bytes > 0, has_signal = op.kind != op_kind::put;
  const member* to = has_payload ? &view(op.remote, op.rank) : nullptr;
  const member* word = has_signal ? &view(op.signal, op.rank) : nullptr;
  const std::byte* source = has_payload ? regions_.local(op.local, op.local_offset) : nullptr;
  if (!p.alive()) return ends_at_once(op, p, p.life.end());  // it could not be reached
  if ((to && (to->absent || !source)) || (word && word->absent)) return ends_at_once(op, p, detached(op.rank));
  if (keys_.serves(to, op.bytes) || keys_.serves(word, 0)) return put_by_key(op, p, to, word, source);

  const bool direct_payload = to && to->mapped;
  const bool direct_signal = word && word->mapped && !p.unapplied() && (!to || to->mapped);
  frame* f = nullptr;
  if ((to && !direct_payload) || (word && !direct_signal)) {
    f = frames_.take(p, message_kind::put);
    if (!f) return false;
  }
  if (direct_payload) copy_bytes(to->mapped + op.remote_offset, source, op.bytes);
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
void operations::say_put(frame& f, const rma_op& op, const member* to, const member* word, const std::byte* source,
                         bool detour) noexcept {
  peer& p = *f.to;
  f.op = op;
  counts_in(f, op.done);
  if (to) {
    f.head.region = to->region, f.head.offset = op.remote_offset;
    f.source = copied(f, op, source), f.left = op.bytes;
  }
  if (word) {
    f.head.signal_region = word->region, f.head.signal_offset = op.signal_offset, f.head.operand = op.operand;
    if (op.how == signal_how::add) f.head.flags = signal_adds;
    f.signals = true;
    std::atomic_thread_fence(std::memory_order_release);  // a payload that was stored directly
  }
  ++p.traffic;
  out_.queue(f);
  if (!detour || !p.alive() || p.marking) return;
  if (frame* mark = frames_.take_request(p, message_kind::mark)) {  // asks, so that later signals may go directly again
    p.marking = mark->marks = true;
    mark->traffic = p.traffic;
    out_.queue(*mark);
  }
}

bool operations::put_by_key(const rma_op& op, peer& p, const member* to, const member* word, const std::byte* source) noexcept {
  const bool payload = keys_.serves(to, op.bytes);
  const bool signal = keys_.serves(word, 0) && op.how == signal_how::set && !p.unapplied() && (!to || payload);
  frame* data = payload ? frames_.take(p, message_kind::put) : nullptr;
  frame* rest = word || !payload ? frames_.take(p, message_kind::put) : nullptr;
  if ((payload && !data) || ((word || !payload) && !rest)) {
    if (data) frames_.finish(*data, {});
    return false;
  }
  // Each frame counts in the completion, for each may be the last to end: a signal that the fabric keeps in order need not
  // wait for its payload, and may be injected while the payload is still read from the caller's memory.
  if (data) {
    data->op = op;
    counts_in(*data, op.done);
    const reaching r = keys_.put(*data, to->key, op.remote_offset, copied(*data, op, source), op.bytes);
    if (!rest) return true;
    if (r == reaching::refused) return frames_.finish(*rest, {}), true;  // which the payload told
    if (r == reaching::lost) return counts_in(*rest, op.done), true;
  }
  if (!signal) {
    rest->needs = p.held ? 0 : p.writes;
    say_put(*rest, op, payload ? nullptr : to, word, source, keys_.serves(word, 0) && op.how == signal_how::set);
    return true;
  }
  counts_in(*rest, op.done);
  rest->what = frame_kind::word;
  rest->key = word->key;
  rest->op.signal_offset = op.signal_offset;
  rest->value = op.operand;
  rest->needs = p.writes;
  if (p.oldest || p.held) {
    ++p.held;
    out_.queue(*rest);
  } else if (keys_.set_word(*rest)) {
    out_.queue(p.ringing);
  }
  return true;
}

bool operations::take_get(const rma_op& op, peer& p) noexcept {
  rma_op want = op;
  if (op.kind == op_kind::get_scatter) {
    want.bytes = 0;
    for (unsigned i = 0; i < op.slices; ++i) want.bytes += op.scatter[i].bytes;
  }
  if (want.bytes == 0) return ends_at_once(op, p, {});
  const member& from = view(op.remote, op.rank);
  if (!p.alive()) return ends_at_once(op, p, p.life.end());
  if (from.absent) return ends_at_once(op, p, detached(op.rank));
  const bool by_key = keys_.serves(&from, want.bytes);
  if (!by_key && from.mapped) {
    std::atomic_thread_fence(std::memory_order_acquire);
    regions_.land(want, 0, {from.mapped + op.remote_offset, want.bytes});
    return ends_at_once(op, p, {});
  }
  frame* f = by_key ? frames_.take(p, message_kind::get) : frames_.take_request(p, message_kind::get);
  if (!f) return false;
  f->op = want;
  counts_in(*f, op.done);
  if (by_key) return keys_.get(*f, from, regions_), true;
  f->head.region = from.region, f->head.offset = op.remote_offset, f->head.bytes = want.bytes;
  out_.queue(*f);
  return true;
}

bool operations::take_atomic(const rma_op& op, peer& p) noexcept {
  const member& at = view(op.remote, op.rank);
  if (!p.alive()) return ends_at_once(op, p, p.life.end());
  if (at.absent) return ends_at_once(op, p, detached(op.rank));
  const message_kind kind = atomic_of(op.kind);
  if (at.mapped) {
    const std::uint64_t old = apply_atomic(kind, word_at(at.mapped, op.remote_offset), op.operand, op.expected);
    ring(p);
    rma_op result = op;
    result.kind = op_kind::get, result.bytes = sizeof old;
    regions_.land(result, 0, std::as_bytes(std::span{&old, 1}));
    return ends_at_once(op, p, {});
  }
  frame* f = frames_.take_request(p, kind);
  if (!f) return false;
  f->op = op;
  f->op.bytes = sizeof(std::uint64_t);
  counts_in(*f, op.done);
  f->head.region = at.region, f->head.offset = op.remote_offset;
  f->head.operand = op.operand;
  f->head.signal_offset = op.kind == op_kind::compare_swap ? op.expected : 0;
  f->traffic = ++p.traffic;  // who has the answer knows that everything before was applied
  out_.queue(*f);
  return true;
}

void operations::ring(peer& p) noexcept {
  if (!p.doze) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // doze.h
  if (is_to_be_rung(p, std::atomic_ref<std::uint64_t>{*p.doze}.load(std::memory_order_relaxed))) out_.queue(p.ringing);
}

// Everything that went by message is applied when a mark that followed it was; what went by key is flushed; the rest is
// applied already.
bool operations::flush(rank_t rank, completion* done) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  peer* one = rank == no_rank ? nullptr : peers_.of(rank);
  if (rank != no_rank && !one) return false;
  const std::span<peer* const> peers = one ? std::span<peer* const>{&one, 1} : peers_.opened();

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
    done->finish(outcome);
  };
  for (peer* p : peers) {
    if (p->unreported.failed()) {
      ends(std::exchange(p->unreported, {}));
    } else if (!p->alive() && (one || p->unapplied() || p->unplaced())) {
      ends(p->life.end());
      p->applied = p->traffic, p->placed = p->writes;  // reported
    } else if (p->alive()) {
      if (p->unapplied()) {
        frame* mark = frames_.take_request(*p, message_kind::mark);
        counts_in(*mark, done);
        mark->traffic = p->traffic;
        out_.queue(*mark);
      }
      if (p->unplaced()) {
        frame* f = frames_.take(*p, {});
        f->what = frame_kind::flush;
        counts_in(*f, done);
        if (p->held) out_.queue(*f);  // behind the signals that wait
        else keys_.flush(*f);
      }
    }
  }
  return true;
}

}  // namespace tutti::messages
