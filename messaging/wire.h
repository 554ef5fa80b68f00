// What messages look like on the wire. Each is one two-sided message of the transport (core/transport/two_sided.h), whose header begins
// with a wire_prefix. Both ends run the same version on hosts of one byte order, which joining the job has made sure of.
//
// A peer is a member of the job, but what it sends may be malformed all the same. Whoever takes a message checks each field where it
// comes in, against what its kind allows and against what this rank knows of the pair, before anything is done with it; a breach ends the
// peer here, with errc::protocol and its rank, and touches no memory.
//
// Short messages. Shared memory carries 48 bytes of header and payload in one cache line, so an envelope and its prefix take 24,
// and where the envelope is that of the message before on the pair (Huang 2005, 3.3), the prefix alone is the header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tutti::messaging {

// Who takes a message is told by the upper bits of its kind: endpoint::serve().
enum class engine_number : std::uint8_t { tagged = 0, active = 1 };
inline constexpr unsigned kinds_of_an_engine = 64;
inline constexpr unsigned engines = 2;

// Of tagged messages: 0 to 63. Active messages have 64 to 127 (messaging/active*.h).
enum class wire_kind : std::uint8_t {
  credit,        // nothing but the credits of the prefix
  eager,         // envelope, the whole payload or its first part
  fragment,      // more of the payload of the eager message that is open on the pair
  announce,      // envelope, size, and by which ways the data can be had
  matched,       // the receiver has matched: go on
  chunk,         // a part of the data lies in a slot of the sender's staging memory
  taken,         // the slot is free again
  finished,      // the other end needs nothing of this one any more
  data,          // a piece of the data, of those that follow each other in the stream
  staging_key,   // how to map the sender's staging memory
  key,           // another part of the sender's memory can be got
  count_
};

struct wire_prefix {
  std::uint8_t kind;
  std::uint8_t flags = 0;     // of the kind
  std::uint16_t credits = 0;  // units of credit that the sender of this returns (messaging/credit.cpp); 0 in active messages
  std::uint32_t number = 0;   // of the kind
};
static_assert(sizeof(wire_prefix) == 8);

struct wire_envelope {
  std::uint64_t team;  // team::id()
  std::uint64_t tag;
};

// Flags of an eager message, and what stands behind its prefix, in this order.
namespace eager_flag {
inline constexpr std::uint8_t same_envelope = 1;  // no wire_envelope: that of the last message that had one, on this pair
inline constexpr std::uint8_t partial = 2;        // 8 bytes: those of the whole message; fragments follow
inline constexpr std::uint8_t sync = 4;           // 8 bytes: how the sender names it, to be told `finished` when it was matched
inline constexpr std::uint8_t all = 7;
}  // namespace eager_flag
inline constexpr std::size_t longest_eager_header = sizeof(wire_prefix) + sizeof(wire_envelope) + 16;

struct wire_announcement {  // behind the envelope; the payload is the key, of `get`
  std::uint64_t bytes;      // of the message
  std::uint64_t sender;     // how the sender names it
  std::uint64_t offset;     // of the data in the region of the key
  std::uint32_t way;
  std::uint32_t lasting;    // 1: the region stays, so its key comes again
  std::uint64_t ready;      // bytes of the message that the key holds, from the first on: all, or keys of the others follow; of `get`
};
struct wire_matched {       // the payload is the key, of `put`
  std::uint64_t sender, receiver;  // names
  std::uint64_t wanted;     // bytes that the receiver has room for
  std::uint64_t offset;     // as above; of `stream`: the first byte that is to come
  std::uint32_t way;
  std::uint32_t lasting;
};
struct wire_chunk {
  std::uint64_t receiver;   // name
  std::uint64_t offset;     // in the message
  std::uint32_t bytes;
  std::uint32_t slot;
};
struct wire_data {           // the payload is the piece
  std::uint64_t receiver;   // name
  std::uint64_t offset;     // in the message
};
struct wire_key {            // the payload is the key
  std::uint64_t receiver;   // name
  std::uint64_t from;       // first byte of the part, of the message: the one behind the part before
  std::uint64_t bytes;      // of the part; 0: there are no more keys, so the rest is to come as a stream
  std::uint64_t offset;     // of the part in the region of the key
  std::uint64_t lasting;    // as above
};
struct wire_taken {
  std::uint64_t sender;     // name
  std::uint64_t chunks;     // all so far
};
struct wire_finished {
  std::uint64_t name;       // of the operation that is told
  std::uint32_t failed = 0; // 1: the data did not come
  std::uint32_t reserved = 0;
};

// A header of a prefix and a body, as one piece of memory.
template <class Body>
struct wire_message {
  wire_prefix prefix;
  Body body;
};

// Reads a T at `at` of a header; false: the header is too short.
template <class T>
bool read_from(std::span<const std::byte> header, std::size_t at, T& out) noexcept {
  if (header.size() < at + sizeof out) return false;
  std::memcpy(&out, header.data() + at, sizeof out);
  return true;
}

template <class T>
std::span<const std::byte> bytes_of(const T& t) noexcept { return std::as_bytes(std::span{&t, 1}); }

}  // namespace tutti::messaging
