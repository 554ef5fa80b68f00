#include "providers/messages/responder.h"

#include <atomic>
#include <cstring>

#include "core/base/copy.h"

namespace tutti::messages {

void apply_signal(std::uint64_t* word, bool add, std::uint64_t operand) noexcept {
  const std::atomic_ref<std::uint64_t> w{*word};
  if (add) w.fetch_add(operand, std::memory_order_acq_rel);
  else w.store(operand, std::memory_order_release);
}

std::uint64_t apply_atomic(message_kind kind, std::uint64_t* word, std::uint64_t operand,
                           std::uint64_t expected) noexcept {
  const std::atomic_ref<std::uint64_t> w{*word};
  if (kind == message_kind::fetch_add) return w.fetch_add(operand);
  if (kind == message_kind::swap) return w.exchange(operand);
  w.compare_exchange_strong(expected, operand);
  return expected;
}

void responder::apply_put(const message& m, std::span<const std::byte> payload) noexcept {
  if (!payload.empty()) {
    std::byte* to = regions_.range(m.region, m.offset, payload.size());
    if (!to) return;
    copy_bytes(to, payload.data(), payload.size());
  }
  if (!(m.flags & with_signal)) return;
  if (std::byte* word = regions_.range(m.signal_region, m.signal_offset, sizeof(std::uint64_t)))
    apply_signal(reinterpret_cast<std::uint64_t*>(word), m.flags & signal_adds, m.operand);
}

void responder::answer(frame& f, const message& m, bool reachable) noexcept {
  f.head.cookie = m.cookie;
  if (m.kind == message_kind::mark) {
    f.head.kind = message_kind::passed;
  } else if (m.kind == message_kind::get) {
    f.head.kind = message_kind::data;
    f.op.local = region_id{m.region}, f.op.local_offset = m.offset;
    if (reachable) f.left = m.bytes;
    else f.head.flags = memory_gone;
  } else {
    f.head.kind = message_kind::old_value;
    std::byte* word = reachable ? regions_.range(m.region, m.offset, sizeof(std::uint64_t)) : nullptr;
    if (word) f.head.operand = apply_atomic(m.kind, reinterpret_cast<std::uint64_t*>(word), m.operand, m.signal_offset);
    else f.head.flags = memory_gone;
  }
}

const std::byte* responder::next_piece(frame& f) noexcept {
  const std::byte* from = regions_.range(static_cast<std::uint32_t>(f.op.local), f.op.local_offset + f.head.offset, f.piece);
  if (!from) {
    f.head.flags |= memory_gone;
    f.left = f.piece = 0;
  }
  return from;
}

}  // namespace tutti::messages
