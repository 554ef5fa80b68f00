// The state machines of the ways in which data travel once an envelope was announced. Each has a file of its own, way_*.cpp.
#pragma once
#include <cstdint>
#include <span>

#include "messaging/tagged.h"

namespace tutti::messaging {

// What one end tells the other of its memory.
struct far_memory {
  std::span<const std::byte> key;
  std::uint64_t offset;
  bool lasting;
  std::uint64_t bytes;  // of the message, from the first on, that lie there
};

// What the operation has for parts; null: out of memory.
parts* parts_of(operation&) noexcept;
// Bytes of the part that begins here, of `rest`: up to a multiple of `part`, and at least half of one.
constexpr std::uint64_t part_bytes(std::uint64_t address, std::uint64_t rest, std::uint64_t part) noexcept {
  if (part == 0 || part >= rest) return rest;
  std::uint64_t bytes = part - address % part;
  if (bytes < part / 2) bytes += part;
  return bytes + part / 2 > rest ? rest : bytes;
}
inline std::uint64_t part_at(const std::byte* at, std::uint64_t rest, std::uint64_t part) noexcept {
  return part_bytes(reinterpret_cast<std::uintptr_t>(at), rest, part);
}
// The same of memory that is registered in parts: what is registered from here on is one; throws bad_alloc.
inline std::uint64_t registered_part(registration_cache& kept, const std::byte* at, std::uint64_t rest, std::uint64_t part) {
  const std::uint64_t known = kept.known({at, rest});
  return known ? known : part_at(at, rest, part);
}
// Memory of the operation that the other end is to reach: of a region that stays, or of one for this message alone. False: neither can be had.
bool share(tagged&, operation&, std::uint64_t bytes) noexcept;
// The same of its first bytes, where the rest is to follow in parts; all of it, where that is no dearer. Packs what is shared.
bool share_in_parts(tagged&, operation&, std::uint64_t bytes) noexcept;
bool share_lasting(tagged&, operation&, std::uint64_t bytes) noexcept;
bool in_lasting(tagged&, const operation&, std::uint64_t bytes) noexcept;  // its memory is of a region that stays, and may be used so
// The other end's memory.
bool reach(tagged&, operation&, const far_memory&) noexcept;
// Another part of it, behind what was told of so far. False: it cannot be reached.
bool reach_more(tagged&, operation&, const far_memory&) noexcept;
// Names the memory here from `moved` on; how many bytes of it, at most so many.
std::uint64_t name_memory(tagged&, operation&, std::uint64_t most) noexcept;
// Hands the transport what is left of the transfer, as far as it takes it and the other end's memory can be reached. True: all of it.
bool move(tagged&, operation&, op_kind) noexcept;
// Data in pieces are to be moved from where they lie, or to there. False: what that needs is not to be had.
bool prepare_lists(tagged&, operation&, op_kind) noexcept;

struct way_get {
  static bool start_receiver(tagged&, operation&, const far_memory&) noexcept;
  static void step_receiver(tagged&, operation&) noexcept;
  static void start_sender(tagged&, operation&) noexcept;    // the receiver has matched, and wants all parts
  static void step_sender(tagged&, operation&) noexcept;
  static bool valid(const operation&, const wire_key&, std::size_t key_bytes) noexcept;
  static void key(tagged&, operation&, const wire_key&, std::span<const std::byte> key) noexcept;  // receiver
};

struct way_put {
  static bool ask_lasting(tagged&, operation&) noexcept; // receiver; false: its buffer is in no region that stays
  static void ask(tagged&, operation&) noexcept;
  static void start_sender(tagged&, operation&, const far_memory&) noexcept;
  static void step_sender(tagged&, operation&) noexcept;
};

struct way_stream {
  static void start_receiver(tagged&, operation&) noexcept;
  static void start_sender(tagged&, operation&) noexcept;
  static bool valid(const operation&, const wire_data&, std::size_t bytes) noexcept;
  static void data(tagged&, operation&, std::span<const std::byte> part) noexcept;  // receiver
};

struct way_staged {
  static bool prepare(tagged&, peer&, operation&) noexcept;  // sender; false: there is no staging memory
  static void start_sender(tagged&, operation&) noexcept;    // the receiver has matched
  static void take_slots(tagged&, operation&, std::uint64_t bytes) noexcept;
  static bool start_receiver(tagged&, operation&) noexcept;  // false: the memory cannot be mapped
  static void step_sender(tagged&, operation&) noexcept;
  static void taken(tagged&, operation&, std::uint64_t chunks) noexcept;
  static bool valid(const operation&, const wire_chunk&) noexcept;
  static void chunk(tagged&, operation&, const wire_chunk&) noexcept;  // receiver
  static void key(tagged&, peer&, std::span<const std::byte> key) noexcept;
};

}  // namespace tutti::messaging
