// What travels between ranks. Both ends run on equal machines (the same ABI): structs go as they are, and the version
// in the address says when they do not fit. Which values each field may have stands in rules.h.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/job/bootstrap.h"
#include "providers/messages/liveness.h"
#include "providers/messages/shared_memory.h"

namespace tutti::messages {

inline constexpr std::uint32_t wire_version = 8;

enum class message_kind : std::uint8_t {
  hello,      // first message on a connection: its origin wants to be told when this rank leaves
  bye,        // the origin has left
  bell,       // wakes a sleeper, says nothing
  put,        // payload into (region, offset), then the signal if there is one; a signal alone has no payload
  get,        // asks for `bytes` from (region, offset)
  data,       // a piece of what was asked for, at `offset` of the request
  fetch_add,  // atomics upon (region, offset)
  compare_swap,
  swap,
  old_value,  // answers an atomic
  mark,       // asks to be told when everything before it was applied
  passed,     // answers a mark
  packet,     // a two-sided message: its header, `offset` bytes long, and its payload; operand as that of room
  room,       // operand: how much its origin has received of the target's packets, ever (inbox.h)
};

enum message_flag : std::uint8_t {
  with_signal = 1,
  signal_adds = 2,
  memory_gone = 4,  // in an answer: the region was dropped or the range lies outside it
};

// The header of every message.
struct message {
  message_kind kind{};
  std::uint8_t flags = 0;
  std::uint64_t sequence : 48 = 0;  // counts the messages of one origin to one target, from 1: no number returns for years
  std::uint32_t origin = 0;         // job rank
  std::uint32_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t cookie = 0;         // of a request, and of its answer
  std::uint32_t bytes = 0;          // of the payload; get: that are asked for
  std::uint32_t signal_region = 0;
  std::uint64_t signal_offset = 0;  // compare_swap: the expected value
  std::uint64_t operand = 0;        // signal and atomics; old_value: that value
  std::uint64_t check = 0;          // of all that stands before it (authentication.h)
};
static_assert(sizeof(message) == 64);

// transport::address(): this head, the link's own address, the key of the doze word where memory can be reached by keys,
// and where there is multicast the address of that.
struct address_head {
  std::uint32_t version = wire_version;
  std::int32_t pid = 0;
  host_id host{};
  memory_name doze;                 // begins with the doze word; nameless: nobody can store into this rank's memory
  liveness_address line;
  std::uint32_t link_bytes = 0;
  std::uint32_t doze_key_bytes = 0;
};

// transport::key(): this head, then the link's key. A peer on this host may map memory that has a name.
struct key_head {
  std::uint32_t region = 0;
  std::uint32_t key_bytes = 0;
  std::uint64_t bytes = 0;
  memory_name memory;
};

// What a blob or a message begins with; none if that is cut off.
template <class T>
std::optional<T> head_of(std::span<const std::byte> blob) noexcept {
  if (blob.size() < sizeof(T)) return std::nullopt;
  T head;
  std::memcpy(&head, blob.data(), sizeof head);
  return head;
}

template <class T>
void append(std::vector<std::byte>& blob, const T* from, std::size_t count = 1) {
  const auto* bytes = reinterpret_cast<const std::byte*>(from);
  blob.insert(blob.end(), bytes, bytes + count * sizeof(T));
}

}  // namespace tutti::messages
