// What the processes of a BSP program tell each other, byte by byte. All of them run the same library on the same kind
// of machine: integers are as the processor has them.
//
// The metadata word. Upon entering bsp_sync every process sets one word at each of the others: which superstep it ends
// and what it has for them. Two words for each pair, used in turn, suffice (superstep.cpp says why). Where the flags
// travel in another way, a word goes only with a chunk, and one may stay for any number of supersteps. It is never taken
// for a later one: it names its superstep by 55 bits, which at one each 10 ns come round after 11 years.
//
// The stamp comes with flags that travel in another way (metadata_exchange.h), and names their superstep likewise. Word and
// stamp tell besides whether words to all, and nothing else, would have been dearer for this superstep.
//
// The answer word counts what is ready of the answers to one's gets. It names no superstep, but is 0 whenever its owner
// awaits nothing: the owner clears it upon having read that these are all, behind which nothing is sent, and words of
// one origin arrive in their order. What comes next follows the owner's next requests, and so the clearing.
//
// Chunks. What a process has for another lies in a chain of chunks that it packed while it computed: one chain of get
// requests, one of puts and messages; and one of answers to the other's gets, packed during the sync.
//
// Records. The chain of puts and messages is a sequence of records; each begins at a multiple of 4 bytes with a word
// whose lowest two bits say which:
//   put4   the word alone: area, offset and size in few bits (the compressed header of Birk 2006, 3.2)
//   put12  area, offset and size in 32 bits each (the header of Birk 2006, 3.1)
//   put16  the same with an offset of 64 bits
//   other  a message, padding, or one of the rarer kinds below
// The data follow the header at once. A record never crosses the end of a chunk, but for the bytes of a message, which
// go on at the beginning of the next one. A put that does not fit into a chunk becomes several records; all but the
// last are marked, so that no other process's put to the same place gets in between.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/round_up.h"
#include "messaging/chunk.h"

namespace tutti::bsp {

// --- metadata ----------------------------------------------------------------------------------------------------
enum metadata_flag : std::uint8_t {
  has_requests = 1,  // a chain of get requests
  has_data = 2,      // a chain of puts and messages
  has_more = 4,      // chunks that follow through the channel
  is_eager = 8,      // the first chunk came with the word
  is_leaving = 16,   // this is bsp_end, not bsp_sync
  has_direct = 32,   // hp puts that go from their source straight into the channel
  went_ahead = 64,   // hp puts that went at the call: the word comes after them, whichever way the flags go
  asks_end = 128,    // a word is to tell when the other has finished this sync (hp_calls.h)
};

constexpr std::uint64_t make_metadata(std::uint64_t epoch, std::uint8_t flags, bool objects = false) noexcept {
  return epoch << 9 | std::uint64_t{objects} << 8 | flags;
}
constexpr std::uint64_t epoch_of(std::uint64_t metadata) noexcept { return metadata >> 9; }
constexpr bool objects_in(std::uint64_t metadata) noexcept { return (metadata >> 8 & 1) != 0; }
constexpr std::uint8_t flags_of(std::uint64_t metadata) noexcept { return static_cast<std::uint8_t>(metadata); }

constexpr std::uint64_t make_stamp(std::uint64_t epoch, bool objects) noexcept { return epoch << 1 | std::uint64_t{objects}; }
constexpr std::uint64_t stamp_epoch(std::uint64_t stamp) noexcept { return stamp >> 1; }
constexpr bool stamp_objects(std::uint64_t stamp) noexcept { return (stamp & 1) != 0; }

// --- chunks ------------------------------------------------------------------------------------------------------
// Where a chunk lies in its owner's memory: the number of a region and an offset in it. Nothing lies at 0.
using location = std::uint64_t;
constexpr location make_location(std::uint32_t region, std::uint64_t offset) noexcept {
  return std::uint64_t{region} << 48 | offset;
}
constexpr std::uint32_t region_of(location l) noexcept { return static_cast<std::uint32_t>(l >> 48); }
constexpr std::uint64_t offset_of(location l) noexcept { return l & ((std::uint64_t{1} << 48) - 1); }

enum class stage : std::uint8_t { requests, answers, data, bulk, direct, done };  // of what one sends another, in this order

struct chunk_head {
  messaging::chunk_head used;
  location next = 0;         // of the chain; 0: the last
  // In the first chunk of the data chain:
  location requests = 0;     // first chunk of that chain
  std::uint32_t calls = 0;   // of bsp_push_reg and bsp_pop_reg in this superstep
  std::uint32_t tag = 0;     // bytes of the tags from the next superstep on
  std::uint64_t pushed = 0;  // bytes of large puts that come through the channel; 0: they are read
  std::uint64_t reserved = 0;
};
static_assert(sizeof(chunk_head) == 48);  // a multiple of 16, for messages

// Where answers are read in place, who asked is told in one word: where the first of their chunks lies (which is at a multiple
// of 64), how many are complete, as far as they can be counted here, and whether these are all there will be. The head of the
// data, which the asker has read, is not written again: that would cost both a miss.
constexpr std::uint64_t make_answer(location first, std::uint64_t chunks, bool all) noexcept {
  return std::uint64_t{region_of(first)} << 58 | offset_of(first) >> 6 << 16 | std::min<std::uint64_t>(chunks, 0x7fff) << 1 |
         (all ? 1 : 0);
}
constexpr location answers_begin(std::uint64_t word) noexcept {
  return make_location(static_cast<std::uint32_t>(word >> 58), (word >> 16 & ((std::uint64_t{1} << 42) - 1)) << 6);
}
constexpr std::uint64_t answer_chunks(std::uint64_t word) noexcept { return word >> 1 & 0x7fff; }
constexpr bool all_answered(std::uint64_t word) noexcept { return (word & 1) != 0; }

constexpr std::uint32_t make_note(stage s, bool last) noexcept {
  return static_cast<std::uint32_t>(s) | (last ? 0x100u : 0u);
}
constexpr stage stage_of(std::uint32_t note) noexcept { return static_cast<stage>(note & 0xff); }
constexpr bool is_last(std::uint32_t note) noexcept { return (note & 0x100u) != 0; }

// --- records -----------------------------------------------------------------------------------------------------
enum class record : std::uint32_t { put4, put12, put16, other };

// Most puts are of a few words: those are copied without a call.
inline void copy_small(std::byte* to, const void* from, std::uint64_t bytes) noexcept {
  switch (bytes) {
    case 0: return;  // perhaps from NULL, which memcpy does not take
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    case 24: std::memcpy(to, from, 24); return;
    case 32: std::memcpy(to, from, 32); return;
    default: std::memcpy(to, from, bytes);
  }
}

inline std::uint32_t load_word(const std::byte* at) noexcept {
  std::uint32_t w;
  std::memcpy(&w, at, 4);
  return w;
}
inline void store_word(std::byte* at, std::uint32_t w) noexcept { std::memcpy(at, &w, 4); }
constexpr record kind_of(std::uint32_t word) noexcept { return static_cast<record>(word & 3); }

// The compressed header: 6 bits of area, 7 of size and 16 of offset, the two counted in bytes or in units of 8 bytes.
struct put4 {
  static constexpr std::uint32_t areas = 64, most_units = 127, offsets = 1u << 16;

  static constexpr bool fits(std::uint32_t area, std::uint64_t offset, std::uint64_t bytes, bool by_words) noexcept {
    const unsigned shift = by_words ? 3 : 0;
    return area < areas && bytes >> shift <= most_units && offset >> shift < offsets;
  }
  static constexpr std::uint32_t pack(std::uint32_t area, std::uint64_t offset, std::uint64_t bytes,
                                      bool by_words) noexcept {
    const unsigned shift = by_words ? 3 : 0;
    return static_cast<std::uint32_t>(record::put4) | (by_words ? 4u : 0u) | area << 3 |
           static_cast<std::uint32_t>(bytes >> shift) << 9 | static_cast<std::uint32_t>(offset >> shift) << 16;
  }
  static constexpr std::uint32_t area(std::uint32_t w) noexcept { return w >> 3 & 63; }
  static constexpr std::uint32_t bytes(std::uint32_t w) noexcept { return (w >> 9 & 127) << (w & 4 ? 3 : 0); }
  static constexpr std::uint32_t offset(std::uint32_t w) noexcept { return w >> 16 << (w & 4 ? 3 : 0); }
};

// The first word of the longer headers: the kind, whether the put goes on in the next record, and 29 bits of area.
constexpr std::uint32_t long_head(record kind, std::uint32_t area, bool goes_on) noexcept {
  return static_cast<std::uint32_t>(kind) | (goes_on ? 4u : 0u) | area << 3;
}
constexpr std::uint32_t long_area(std::uint32_t word) noexcept { return word >> 3; }
constexpr bool long_goes_on(std::uint32_t word) noexcept { return (word & 4) != 0; }

struct put12 {
  std::uint32_t kind_area;
  std::uint32_t bytes;
  std::uint32_t offset;
};
struct put16 {
  std::uint32_t kind_area;
  std::uint32_t bytes;
  std::uint64_t offset;
};
static_assert(sizeof(put12) == 12 && sizeof(put16) == 16);

// Padding is one word. A message begins at a multiple of 16 bytes, and so do its tag and its payload, which follow it.
constexpr std::uint32_t padding = static_cast<std::uint32_t>(record::other);
constexpr std::uint32_t message_mark = padding | 4;
struct message_head {
  std::uint32_t kind = message_mark;
  std::uint32_t tag_bytes = 0;
  std::uint64_t payload_bytes = 0;
};
static_assert(sizeof(message_head) == 16);

// What a collective call gives another process: a message to the engine itself, whose tag is this note. All processes end the
// superstep by the same call, so who ended it otherwise is told by a note that is not its own, or by a value that did not come.
constexpr std::uint32_t value_mark = message_mark | 256;
struct call_note {
  static constexpr std::uint32_t no_root = ~std::uint32_t{0};

  char call[20] = {};           // its name, without a 0 at the end where it fills this
  std::uint32_t root = no_root;
  std::uint64_t bytes = 0;      // of what each process gives
  bool operator==(const call_note&) const = default;
};
static_assert(sizeof(call_note) == 32);

// What an hp get brings: the bytes follow.
constexpr std::uint32_t hp_answer_mark = padding | 8;
struct hp_answer_head {
  std::uint32_t kind = hp_answer_mark;
  std::uint32_t bytes = 0;
  std::uint64_t into = 0;  // the asker's own
};
static_assert(sizeof(hp_answer_head) == 16);

// A large put, whose data lie apart in the sender's memory: for the target's process to read, or to come after all records
// (chunk_head::pushed says which). A put whose data lie in several places becomes several records; all but the last are
// marked. And the key of a region in which such data lie, which comes before the first of them.
constexpr std::uint32_t bulk_mark = padding | 16, bulk_goes_on = 256, key_mark = padding | 32;
struct bulk_head {
  std::uint32_t kind = bulk_mark;
  std::uint32_t area = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  location from = 0;
};
struct key_head {
  std::uint32_t kind = key_mark;
  std::uint32_t region = 0;
  std::uint32_t bytes = 0;  // of the key, which follows
  std::uint32_t reserved = 0;
};
static_assert(sizeof(bulk_head) == 32 && sizeof(key_head) == 16);

// The sender's calls of bsp_push_reg and bsp_pop_reg in this superstep: `count` of them from the `first` on, 64 bits each,
// which follow (agreement.h).
constexpr std::uint32_t changes_mark = padding | 64;
struct changes_head {
  std::uint32_t kind = changes_mark;
  std::uint32_t first = 0, count = 0;
};
static_assert(sizeof(changes_head) == 12);

// The key of the sender's part in an area that is registered in this superstep, for hp calls from the next one on.
constexpr std::uint32_t area_mark = padding | 128;
struct area_head {
  std::uint32_t kind = area_mark;
  std::uint32_t area = 0;
  std::uint32_t bytes = 0;  // of the key, which follows
};
static_assert(sizeof(area_head) == 12);

// --- gets --------------------------------------------------------------------------------------------------------
// The answers of one process to another are the bytes asked for, one after the other in the order of the requests.
struct get_request {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t into;  // the asker's own: where the answer goes
  std::uint32_t area;
  std::uint32_t direct;  // 1: an hp get; answered among the hp puts
};
static_assert(sizeof(get_request) == 32);

}  // namespace tutti::bsp
