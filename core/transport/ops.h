// Operations by name, so that engines read as what they ask for.
#pragma once
#include "core/transport/transport.h"

namespace tutti {

struct far_word {  // an aligned word in a peer's memory
  rank_t rank;
  segment_id segment;
  std::uint64_t offset;
};

inline rma_op signal_op(far_word at, std::uint64_t value, signal_how how = signal_how::set,
                        not_before order = not_before::payload) noexcept {
  rma_op op{};
  op.kind = op_kind::signal;
  op.how = how, op.order = order;
  op.rank = at.rank, op.signal = at.segment, op.signal_offset = at.offset;
  op.operand = value;
  return op;
}

// put, get: `bytes` between (local, local_offset) and (rank, remote, remote_offset).
inline rma_op move_op(op_kind kind, region_id local, std::uint64_t local_offset, rank_t rank, segment_id remote,
                      std::uint64_t remote_offset, std::uint32_t bytes, completion* done) noexcept {
  rma_op op{};
  op.kind = kind;
  op.rank = rank, op.local = local, op.remote = remote;
  op.local_offset = local_offset, op.remote_offset = remote_offset;
  op.bytes = bytes, op.done = done;
  return op;
}

inline rma_op with_signal(rma_op put, segment_id segment, std::uint64_t offset, std::uint64_t value) noexcept {
  put.kind = op_kind::put_signal;
  put.signal = segment, put.signal_offset = offset, put.operand = value;
  return put;
}

// fetch_add, swap: the old value lands at (local, local_offset).
inline rma_op atomic_op(op_kind kind, region_id local, std::uint64_t local_offset, far_word at, std::uint64_t operand,
                        completion* done) noexcept {
  rma_op op = move_op(kind, local, local_offset, at.rank, at.segment, at.offset, 0, done);
  op.operand = operand;
  return op;
}

}  // namespace tutti
