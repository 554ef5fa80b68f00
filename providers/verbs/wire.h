// What ranks tell each other. Both ends run on equal machines (the same ABI): structs go as they are, and the version
// in the address says when they do not fit.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/base/authentication.h"
#include "core/base/round_up.h"
#include "providers/messages/liveness.h"

namespace tutti::verbs {

inline constexpr std::uint32_t wire_version = 6;

using gid_bytes = std::array<std::byte, 16>;

// transport::address(): where a rank's adapter is, and where its connection manager hears.
struct address_blob {
  std::uint32_t version = wire_version;
  std::int32_t pid = 0;
  host_id host{};
  gid_bytes gid{};
  std::uint64_t probe_address = 0;   // 8 bytes that anybody may read: what a flush reads
  std::uint32_t probe_rkey = 0;
  std::uint32_t manager_qpn = 0;     // a UD queue pair
  std::uint16_t lid = 0;
  std::uint8_t mtu = 0;              // ibv_mtu
  std::uint8_t ethernet = 0;         // RoCE
  std::uint8_t reads = 0;            // RDMA reads and atomics that it answers at once on one queue pair
  std::uint8_t multicast = 0;        // it can
  std::uint8_t reserved[2] = {};
  messages::liveness_address line;   // where its host tells of its process (connection_calls.cpp)
};

// transport::key().
struct key_blob {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t rkey = 0;
  std::uint32_t word_rkey = 0;       // for signals and atomics: never with relaxed ordering (regions.h)
  std::uint32_t region = 0;          // the owner's region_id
  std::uint32_t reserved = 0;
};

// Between connection managers, as UD datagrams: may be lost, repeated and reordered. See connection_manager.h.
enum class note_kind : std::uint8_t {
  hello,  // here is my queue pair for you
  ping,   // are you there?
  pong,   // I am; also: I am, and cannot connect just now
  refuse, // I have no queue pair for you, and cannot make one
  bye,    // I have left
};

struct note {
  std::uint32_t version = wire_version;
  std::uint32_t origin = 0;          // job rank
  note_kind kind{};
  std::uint8_t wants_answer = 0;
  std::uint8_t sleeps = 0;           // hello: its signals must ring (receiver.h)
  std::uint8_t lost = 0;             // hello: something of the sender's that named no completion, with an earlier connection
  std::uint32_t life = 0;            // hello: counts the sender's queue pairs for this pair of ranks, from 1
  std::uint32_t sees_life = 0;       // hello: of the receiver's queue pair that the sender's is connected to; 0: none
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  std::uint32_t padding = 0;
  std::uint64_t check = 0;           // of all that stands before it and of whom it is for, by the job's key
};
static_assert(sizeof(note) == 40);

// Rank `target` hears no other notes than those with this check.
inline std::uint64_t check_for(rank_t target, const note& n, const siphash_key& key) noexcept {
  return check_of(n, std::as_bytes(std::span{&target, 1}), key);
}

// What the adapter compares before it hands a note on. It travels with every note, so it is no proof.
inline std::uint32_t qkey_of(const siphash_key& key) noexcept {
  siphash h(key);
  h.add(std::as_bytes(std::span{"qkey"}));
  return static_cast<std::uint32_t>(h.value()) & 0x7fff'ffff;  // the highest bit is for privileged ones
}

// The immediate of an RDMA write: what it says in the low byte, the origin's rank above.
enum class ring_kind : std::uint8_t {
  bell,      // a signal or an atomic was written: wake up
  announce,  // its origin sleeps now and then: from now on ring
  confirm,   // answers announce: everything after this rings
  bye,       // its origin leaves; everything it sent has been executed
};
constexpr std::uint32_t make_ring(ring_kind kind, rank_t origin) noexcept {
  return origin << 8 | static_cast<std::uint32_t>(kind);
}
constexpr ring_kind kind_of_ring(std::uint32_t ring) noexcept { return static_cast<ring_kind>(ring & 0xff); }
constexpr rank_t origin_of_ring(std::uint32_t ring) noexcept { return ring >> 8; }
inline constexpr std::uint32_t most_ranks = 1u << 24;

// Two-sided messages (packets, since everything is a message): what a SEND brings begins with this. packets.h has their protocol.
enum class packet_kind : std::uint8_t {
  message,  // its header follows, up to a multiple of 8, and its payload
  room,     // nothing follows: only what `keeps` and `limit` say
  ask,      // likewise; and the sender has message `number`, which it may not send yet
};
struct packet_head {
  packet_kind kind{};
  std::uint8_t keeps = 0;       // the limit will move on by itself, as messages are received
  std::uint16_t header = 0, payload = 0;  // bytes
  std::uint16_t reserved = 0;
  std::uint32_t number = 0;     // counts the messages from sender to target, from 0; wraps around
  std::uint32_t limit = 0;      // of the other direction: the target of this may send those before it
};
static_assert(sizeof(packet_head) == 16);
inline constexpr std::uint32_t packet_bytes = 4096;  // the longest, and what every receive has room for
inline constexpr std::uint32_t max_packet_header = 128, max_packet_payload = packet_bytes - sizeof(packet_head) - max_packet_header;
static_assert(sizeof(packet_head) % 8 == 0 && max_packet_header % 8 == 0);

constexpr std::uint32_t length_of(const packet_head& h) noexcept {
  return static_cast<std::uint32_t>(sizeof h + round_up(h.header, 8) + h.payload);
}
// What one packet can tell of its fields by itself; whether it is due, and has room, is for who keeps count (receiver.cpp).
constexpr bool is_sound(const packet_head& h, std::uint32_t bytes) noexcept {
  const bool brings = h.kind == packet_kind::message;
  return h.kind <= packet_kind::ask && h.keeps <= 1 && h.reserved == 0 && h.header <= (brings ? max_packet_header : 0) &&
         h.payload <= (brings ? max_packet_payload : 0) && bytes == length_of(h);
}
// Serial numbers of 32 bits: how far `a` is behind `b`.
constexpr std::int32_t ahead(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b); }

template <class T>
std::optional<T> blob_as(std::span<const std::byte> blob) noexcept {
  if (blob.size() != sizeof(T)) return std::nullopt;
  T whole;
  std::memcpy(&whole, blob.data(), sizeof whole);
  return whole;
}

template <class T>
std::vector<std::byte> as_blob(const T& whole) {
  const auto bytes = std::as_bytes(std::span{&whole, 1});
  return {bytes.begin(), bytes.end()};
}

}  // namespace tutti::verbs
