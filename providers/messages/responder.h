// The target's part of operations by message: what peers' messages do to this rank's memory, and the answers to them.
#pragma once
#include <span>

#include "providers/messages/frames.h"
#include "providers/messages/regions.h"
#include "providers/messages/wire.h"

namespace tutti::messages {

// Signals and atomics are those of a CPU, wherever they are executed.
void apply_signal(std::uint64_t* word, bool add, std::uint64_t operand) noexcept;
std::uint64_t apply_atomic(message_kind, std::uint64_t* word, std::uint64_t operand, std::uint64_t expected) noexcept;

class responder {
 public:
  explicit responder(region_table& regions) noexcept : regions_(regions) {}

  // Memory that was dropped meanwhile takes nothing, and nothing is signalled.
  void apply_put(const message&, std::span<const std::byte> payload) noexcept;
  // Makes `answer` that of a get, an atomic or a mark. `reachable`: its fields name what can be memory (rules.h).
  void answer(frame& answer, const message& request, bool reachable) noexcept;
  // The next piece of what a get has asked for, f.piece bytes; null: the memory is gone, which the answer then says.
  const std::byte* next_piece(frame& f) noexcept;

 private:
  region_table& regions_;
};

}  // namespace tutti::messages
