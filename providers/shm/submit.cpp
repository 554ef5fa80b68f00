// The data path. An operation is finished when submit() returns, unless it had to go by mail (mailed.cpp).
//
// Order (clause 5). Payloads are plain stores and signals are release stores or read-modify-writes with release order,
// all by one thread: a signal is after everything that this rank did before it, for the peer itself and for any rank
// that learns of it, so `payload` and `everything` cost the same. Copies that bypass the cache end with a fence within
// memmove, or within stream_bytes().
//
// Death (clause 10). Stores into a dead rank's memory succeed: it stays mapped. So a rank that does nothing but submit looks
// around as well, after some work at first and by the clock then: one operation counts as one, and each 16 KiB of it as one
// more, a microsecond or so.
#include <cstring>

#include "core/base/copy.h"
#include "providers/shm/transport.h"

namespace tutti::shm {

namespace {

std::atomic_ref<std::uint64_t> word_at(std::byte* at) noexcept {
  return std::atomic_ref<std::uint64_t>{*reinterpret_cast<std::uint64_t*>(at)};
}

bool is_word(const std::byte* a, const std::byte* b, std::size_t bytes) noexcept {
  return bytes == 8 && ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) & 7) == 0;
}

// One aligned word, the commonest payload, moves whole.
void copy_out(std::byte* remote, const std::byte* local, std::size_t bytes, shared_writer& by) noexcept {
  if (is_word(remote, local, bytes)) {
    std::uint64_t value;
    std::memcpy(&value, local, 8);
    word_at(remote).store(value, std::memory_order_relaxed);
  } else if (bytes >= shared_writer::least && lie_apart(remote, local, bytes)) {
    by.copy(remote, local, bytes);
  } else if (bytes != 0) {  // no bytes: there may be no address either
    move_bytes(remote, local, bytes);
  }
}

void copy_in(std::byte* local, std::byte* remote, std::size_t bytes) noexcept {
  if (is_word(local, remote, bytes)) {
    const std::uint64_t value = word_at(remote).load(std::memory_order_acquire);
    std::memcpy(local, &value, 8);
  } else if (bytes != 0) {
    move_bytes(local, remote, bytes);
  }
}

void raise_signal(std::byte* at, const rma_op& op) noexcept {
  if (op.how == signal_how::set) word_at(at).store(op.operand, std::memory_order_release);
  else word_at(at).fetch_add(op.operand, std::memory_order_acq_rel);
}

}  // namespace

void shm_transport::do_payload(const rma_op& op, std::byte* remote, const peer& p) noexcept {
  switch (op.kind) {
    case op_kind::put:
    case op_kind::put_signal:
      copy_out(remote, local_address(op.local, op.local_offset), op.bytes, writer_for(p));
      break;
    case op_kind::get:
      copy_in(local_address(op.local, op.local_offset), remote, op.bytes);
      break;
    case op_kind::get_scatter:
      for (std::uint32_t i = 0; i < op.slices; ++i) {
        const slice& s = op.scatter[i];
        copy_in(local_address(s.local, s.local_offset), remote, s.bytes);
        remote += s.bytes;
      }
      break;
    default: break;
  }
}

void shm_transport::do_word(const rma_op& op, std::byte* word, peer& p) noexcept {
  std::uint64_t old = op.expected;
  switch (op.kind) {
    case op_kind::signal:
    case op_kind::put_signal:
      raise_signal(word, op);
      wake(p);
      return;
    case op_kind::fetch_add: old = word_at(word).fetch_add(op.operand); break;
    case op_kind::swap: old = word_at(word).exchange(op.operand); break;
    case op_kind::compare_swap: word_at(word).compare_exchange_strong(old, op.operand); break;
    default: return;
  }
  std::memcpy(local_address(op.local, op.local_offset), &old, 8);
  wake(p);
}

std::size_t shm_transport::submit(std::span<const rma_op> ops) noexcept {
  look_when_due();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const rma_op& op = ops[i];
    unlooked_ += 1 + (op.bytes >> 14);
    const std::uint32_t l = local_index(op.rank);
    if (l != not_local && peers_[l].direct) [[likely]] {
      switch (op.kind) {
        case op_kind::put:
        case op_kind::get:
        case op_kind::get_scatter:
          if (std::byte* base = mapped_base(op.remote, l)) {
            do_payload(op, base + op.remote_offset, peers_[l]);
            continue;
          }
          break;
        case op_kind::signal:
          if (std::byte* base = mapped_base(op.signal, l)) {
            raise_signal(base + op.signal_offset, op);
            wake(peers_[l]);
            continue;
          }
          break;
        case op_kind::put_signal: {
          std::byte* base = mapped_base(op.signal, l);
          std::byte* remote = mapped_base(op.remote, l);
          if (base && remote) {
            copy_out(remote + op.remote_offset, local_address(op.local, op.local_offset), op.bytes, writers_[l]);
            raise_signal(base + op.signal_offset, op);
            wake(peers_[l]);
            continue;
          }
          break;
        }
        case op_kind::fetch_add:
        case op_kind::compare_swap:
        case op_kind::swap:
          if (std::byte* base = mapped_base(op.remote, l)) {
            do_word(op, base + op.remote_offset, peers_[l]);
            continue;
          }
          break;
      }
    }
    if (!submit_slowly(op)) {
      refused_ = true;
      return i;
    }
  }
  refused_ = false;
  return ops.size();
}

}  // namespace tutti::shm
