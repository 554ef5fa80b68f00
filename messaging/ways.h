// The state machines of the ways in which data travel once an envelope was announced. Each has a file of its own, way_*.cpp.
#pragma once
#include <cstdint>
#include <span>

#include "messaging/tagged.h"

namespace tutti::messaging {

// Memory of the operation that the other end is to reach: its key goes to operation::key. False: it cannot be had.
bool expose(transport&, const endpoint&, operation&, std::uint64_t bytes) noexcept;
// The other end's memory, by its key.
bool reach(transport&, operation&, std::span<const std::byte> key) noexcept;
// Hands the transport what is left of the transfer, as far as it takes it. True: all of it.
bool move(transport&, operation&, op_kind) noexcept;

struct way_get {
  static bool start_receiver(tagged&, operation&, std::span<const std::byte> key) noexcept;
  static void step_receiver(tagged&, operation&) noexcept;
};

struct way_put {
  static void ask(tagged&, operation&) noexcept;        // receiver
  static void start_sender(tagged&, operation&, std::span<const std::byte> key) noexcept;
  static void step_sender(tagged&, operation&) noexcept;
};

struct way_staged {
  static bool prepare(tagged&, peer&, operation&) noexcept;  // sender; false: no slots
  static bool start_receiver(tagged&, operation&) noexcept;  // false: the memory cannot be mapped
  static void step_sender(tagged&, operation&) noexcept;
  static void taken(tagged&, operation&, std::uint64_t chunks) noexcept;
  static bool valid(const operation&, const wire_chunk&) noexcept;
  static void chunk(tagged&, operation&, const wire_chunk&) noexcept;  // receiver
  static void key(tagged&, peer&, std::span<const std::byte> key) noexcept;
};

}  // namespace tutti::messaging
