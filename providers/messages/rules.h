// What each field of each message may be: the one place that looks, after authentication and before anything is done.
//
// Two findings are told apart, because their causes differ. A message is `malformed` where no rank of this version could have
// sent it, whatever its program asked for: an unknown kind or flag, a field that must be zero, a length that is not that of
// the payload. Its origin is broken or of another version, nothing of what it sends can be believed, and the connection
// ends. A message is `outside` where its fields are sound and what they name can be no memory: a range that wraps around, a
// word that is not aligned. A program's mistake does that (clause 13 of the contract leaves both to the caller), so it is
// answered like memory that is gone, and costs that program one operation rather than its peer. Whether a region exists and
// how long it is, only the target's table of regions knows (region_table::range()).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "providers/messages/wire.h"

namespace tutti::messages {

inline constexpr std::uint32_t pool_frames = 512;                // of one rank: a cookie names one of them
inline constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;  // of one put or get
inline constexpr std::uint32_t max_packet_header = 128, max_packet_bytes = 16384 + max_packet_header;  // of a two-sided message; both parts together
inline constexpr std::uint32_t packet_window = 65536;           // inbox.h
inline constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);

enum class extent : std::uint8_t { none, payload, asked, word };  // how much memory (region, offset) names

struct rule {
  message_kind kind{};
  std::uint8_t flags = 0;    // that may be set
  extent memory = extent::none;
  bool payload = false;      // may follow; its length is `bytes`. Else bytes is 0, or what is asked for
  bool position = false;     // offset is a place in what was asked for
  bool headed = false;       // offset is the length of the payload's first part
  bool cookie = false;
  bool signal = false;       // its region, offset and operand
  bool operand = false;
  bool expected = false;     // signal_offset is a value
  message_kind answers{};    // the kind of request to which this is an answer; atomics: any of the three
};

// By kind. Whatever a row does not name is 0.
inline constexpr std::array<rule, 14> rules{{
    {.kind = message_kind::hello},
    {.kind = message_kind::bye},
    {.kind = message_kind::bell},
    {.kind = message_kind::put, .flags = with_signal | signal_adds, .memory = extent::payload, .payload = true, .signal = true},
    {.kind = message_kind::get, .memory = extent::asked, .cookie = true},
    {.kind = message_kind::data, .flags = memory_gone, .payload = true, .position = true, .cookie = true, .answers = message_kind::get},
    {.kind = message_kind::fetch_add, .memory = extent::word, .cookie = true, .operand = true},
    {.kind = message_kind::compare_swap, .memory = extent::word, .cookie = true, .operand = true, .expected = true},
    {.kind = message_kind::swap, .memory = extent::word, .cookie = true, .operand = true},
    {.kind = message_kind::old_value, .flags = memory_gone, .cookie = true, .operand = true, .answers = message_kind::fetch_add},
    {.kind = message_kind::mark, .cookie = true},
    {.kind = message_kind::passed, .cookie = true, .answers = message_kind::mark},
    {.kind = message_kind::packet, .payload = true, .headed = true, .operand = true},
    {.kind = message_kind::room, .operand = true},
}};
static_assert([] {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (static_cast<std::size_t>(rules[i].kind) != i) return false;
  return true;
}());

constexpr bool is_atomic(message_kind k) noexcept {
  return k == message_kind::fetch_add || k == message_kind::compare_swap || k == message_kind::swap;
}

// An answer of one kind to a request of the other.
constexpr bool is_answer_to(message_kind answer, message_kind request) noexcept {
  const message_kind wanted = rules[static_cast<std::size_t>(answer)].answers;
  return wanted == request || (is_atomic(wanted) && is_atomic(request));
}

enum class finding : std::uint8_t { sound, outside, malformed };

struct inspection {
  finding what = finding::sound;
  const char* field = "";  // the first that is wrong
};

constexpr inspection inspect(const message& m, std::size_t payload) noexcept {
  const auto malformed = [](const char* field) { return inspection{finding::malformed, field}; };
  if (static_cast<std::size_t>(m.kind) >= rules.size()) return malformed("kind");
  const rule& r = rules[static_cast<std::size_t>(m.kind)];
  const bool gone = m.flags & memory_gone, put = m.kind == message_kind::put;
  if (m.flags & ~r.flags) return malformed("flags");
  if (m.sequence == 0) return malformed("sequence");

  const bool asks = r.memory == extent::asked;
  if (payload > 0 && !r.payload) return malformed("payload");
  if (asks ? m.bytes == 0 || m.bytes > max_bytes : m.bytes != payload) return malformed("bytes");
  if (r.position && (payload == 0) != gone) return malformed("payload");   // an answer brings something, or says why not
  if (put && payload == 0 && !(m.flags & with_signal)) return malformed("payload");

  const std::uint64_t covers = r.memory == extent::payload ? payload
                               : asks                      ? m.bytes
                               : r.memory == extent::word  ? word_bytes
                                                           : 0;
  if ((m.region != 0) != (covers != 0)) return malformed("region");
  if (m.offset != 0 && covers == 0 && !r.position && !r.headed) return malformed("offset");
  if (r.position && m.offset > max_bytes) return malformed("offset");
  if (r.headed && (m.offset > max_packet_header || m.offset > payload)) return malformed("offset");
  if (r.headed && payload > max_packet_bytes) return malformed("payload");
  if (r.cookie ? static_cast<std::uint32_t>(m.cookie) >= pool_frames : m.cookie != 0) return malformed("cookie");
  if (m.signal_region != 0 ? !r.signal : (m.flags & with_signal) != 0) return malformed("signal_region");
  if (m.signal_offset != 0 && !r.signal && !r.expected) return malformed("signal_offset");
  if (m.operand != 0 && !r.signal && !r.operand) return malformed("operand");

  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (m.offset > last - covers) return {finding::outside, "offset"};
  if (r.memory == extent::word && m.offset % word_bytes != 0) return {finding::outside, "offset"};
  if ((m.flags & with_signal) && (m.signal_offset % word_bytes != 0 || m.signal_offset > last - word_bytes))
    return {finding::outside, "signal_offset"};
  return {};
}

}  // namespace tutti::messages
