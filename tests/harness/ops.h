// Operations by name, so that a test reads as what it asks for.
#pragma once
#include "core/transport/transport.h"

namespace tutti::test {

struct far_place {  // a place in a peer's memory
  rank_t rank;
  segment_id segment;
  std::uint64_t offset = 0;
};

struct near_place {  // a place in memory of mine; a plain address if the region is unregistered_memory
  region_id region;
  std::uint64_t offset = 0;
};

inline near_place plain(const void* p) noexcept { return {unregistered_memory, reinterpret_cast<std::uintptr_t>(p)}; }

inline rma_op make(op_kind kind, near_place at, far_place to, completion* done) noexcept {
  rma_op op{};
  op.kind = kind, op.rank = to.rank, op.done = done;
  op.local = at.region, op.local_offset = at.offset;
  op.remote = to.segment, op.remote_offset = to.offset;
  return op;
}

inline rma_op put(near_place from, far_place to, std::uint32_t bytes, completion* done = nullptr) noexcept {
  rma_op op = make(op_kind::put, from, to, done);
  op.bytes = bytes;
  return op;
}

inline rma_op get(near_place into, far_place from, std::uint32_t bytes, completion* done = nullptr) noexcept {
  rma_op op = make(op_kind::get, into, from, done);
  op.bytes = bytes;
  return op;
}

inline rma_op get_scatter(std::span<const slice> into, far_place from, completion* done) noexcept {
  rma_op op = make(op_kind::get_scatter, {unregistered_memory, 0}, from, done);
  op.scatter = into.data(), op.slices = static_cast<std::uint8_t>(into.size());
  for (const slice& s : into) op.bytes += s.bytes;
  return op;
}

inline rma_op signal(far_place word, std::uint64_t value, signal_how how = signal_how::set,
                     not_before order = not_before::payload, completion* done = nullptr) noexcept {
  rma_op op{};
  op.kind = op_kind::signal, op.rank = word.rank, op.done = done;
  op.how = how, op.order = order, op.signal = word.segment, op.signal_offset = word.offset, op.operand = value;
  return op;
}

// The word lies at the same rank as the payload.
inline rma_op put_signal(near_place from, far_place to, std::uint32_t bytes, segment_id words, std::uint64_t word,
                         std::uint64_t value, completion* done = nullptr) noexcept {
  rma_op op = put(from, to, bytes, done);
  op.kind = op_kind::put_signal;
  op.signal = words, op.signal_offset = word, op.operand = value;
  return op;
}

inline rma_op fetch_add(near_place old, far_place word, std::uint64_t add, completion* done) noexcept {
  rma_op op = make(op_kind::fetch_add, old, word, done);
  op.operand = add;
  return op;
}

inline rma_op swap(near_place old, far_place word, std::uint64_t value, completion* done) noexcept {
  rma_op op = make(op_kind::swap, old, word, done);
  op.operand = value;
  return op;
}

inline rma_op compare_swap(near_place old, far_place word, std::uint64_t expected, std::uint64_t value,
                           completion* done) noexcept {
  rma_op op = make(op_kind::compare_swap, old, word, done);
  op.expected = expected, op.operand = value;
  return op;
}

}  // namespace tutti::test
