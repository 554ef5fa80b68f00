// A process that is a rank of a simulated world, which lives in another process (`tutti sim ./program`): the line between the two. The
// process asks, the world answers, one call at a time. All that a call names by address lies in the asking process; the world reads and
// writes it there while the process waits for its answer.
//
// The line is memory that both map. The world made it before it started the process, which finds it by the variable TUTTI_SIMULATED, a
// descriptor and a rank ("9:3"). Both are checked against what the memory says of itself.
#pragma once
#include <semaphore.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/status.h"
#include "core/base/time_point.h"
#include "core/transport/multicast.h"
#include "core/transport/transport.h"
#include "core/transport/two_sided.h"

namespace tutti::simulated {

inline constexpr const char* variable = "TUTTI_SIMULATED";
inline constexpr std::uint32_t magic = 0x74736c6e, version = 1;
// What a process works between two questions takes virtual time from here on: less is the library's own, which the model charges for.
inline constexpr std::int64_t least_work_ns = 20'000;

enum class call : std::uint32_t {
  gather,     // address and bytes of this rank's blob, deadline in ns -> bytes of the table: the lengths (8 bytes each), then the blobs
  fetch,      // address: where the table goes
  open,       // -> data: `opened`
  leave,      // the transport is destroyed
  add,        // address, bytes -> region
  key,        // region -> data: the key
  attach,     // addresses of members, of the keys' lengths (8 bytes each) and of the keys; members, bytes of all keys -> segment
  drop_segment, drop_region,
  submit,     // address of operations, number -> taken
  flush,      // rank, address of the completion or 0 -> 1 if taken
  progress,   // -> events, number of endings; data: `ending`s
  clock,      // nothing but the clock
  glance,     // it was read often: some time passes
  sleep,      // deadline in ns
  health,     // rank
  send,       // rank; address and bytes of header and payload -> 1 if taken
  receive,    // address of memory for the longest message -> 1 if there is one; rank, bytes of header and payload
  form,       // a multicast group. Address and number of members, deadline in ns -> group, bytes of the token; data: the token
  join,       // address and number of members, address and bytes of the token, deadline in ns -> group
  cast,       // group, tag, address and bytes of the payload -> 1 if taken
  hear,       // group, address of memory for the longest datagram -> 1 if there is one; rank, tag, bytes
  depart,     // group
};

// What call::open tells of the fabric.
struct opened {
  capabilities caps;
  two_sided::limits packets;
  bool multicasts;
  multicast::limits datagrams;
};

// Of completions that ended: the completion's address in the process, and how many operations.
struct ending {
  std::uint64_t completion;
  std::uint32_t operations;
  std::uint32_t failed;     // 1: the answer's error is the first of them that failed; such an ending is the last of its answer
};

struct slot {
  sem_t asked, answered;
  std::int32_t pid;         // of the process
  // The question.
  call what;
  std::uint64_t arguments[8];
  std::int64_t worked_ns;   // processor time of the process since the last answer
  // The answer.
  std::int64_t clock_ns;    // of the rank
  std::uint64_t results[4];
  std::int32_t code;        // errc
  rank_t peer;
  std::int64_t native;
  char text[320];
  alignas(16) std::byte data[1024];
};

struct header {
  std::uint32_t magic, version, ranks, ranks_per_node, slot_bytes;
  std::int32_t world;       // its process
  char job[64];             // its id
};

constexpr std::size_t bytes_for(std::uint32_t ranks) noexcept { return sizeof(header) + 64 + sizeof(slot) * std::size_t{ranks}; }
static_assert(std::is_trivially_copyable_v<opened> && sizeof(opened) <= sizeof slot::data);
inline slot& slot_of(header& h, rank_t rank) noexcept {
  constexpr std::size_t first = (sizeof(header) + alignof(slot) - 1) / alignof(slot) * alignof(slot);
  return *reinterpret_cast<slot*>(reinterpret_cast<std::byte*>(&h) + first + sizeof(slot) * std::size_t{rank});
}

// The process's end. One thread at a time.
class line {
 public:
  // What the variable says, once for the process. `unavailable`: it names no such memory.
  static result<line*> open(const std::string& told);
  static line* of_process() noexcept;  // null: none was opened

  rank_t rank() const noexcept { return rank_; }
  std::uint32_t size() const noexcept { return header_->ranks; }
  std::uint32_t node() const noexcept { return rank_ / header_->ranks_per_node; }
  std::string job() const { return header_->job; }

  // The answer's error; results, data and the clock stand in the slot until the next question.
  template <class... Arguments>
  status ask(call what, Arguments... arguments) noexcept {
    std::uint64_t* to = slot_->arguments;
    ((*to++ = static_cast<std::uint64_t>(arguments)), ...);
    return exchange(what);
  }
  std::uint64_t result_of(int i = 0) const noexcept { return slot_->results[i]; }
  std::uint64_t asked() const noexcept { return asked_; }  // how often, up to now
  std::span<const std::byte> data(std::size_t bytes) const noexcept { return {slot_->data, bytes}; }
  // Of the rank, now.
  time_point clock() noexcept {
    if (worked() >= least_work_ns) (void)ask(call::clock);
    return at_last_answer();
  }
  time_point at_last_answer() const noexcept { return time_point(std::chrono::nanoseconds(slot_->clock_ns)); }

 private:
  line(header*, rank_t) noexcept;
  status exchange(call) noexcept;
  std::int64_t worked() const noexcept;  // since the last answer

  header* header_;
  slot* slot_;
  rank_t rank_;
  std::uint64_t asked_ = 0;
  bool gone_ = false;          // the world has ended
  std::int64_t worked_until_;  // by the process's clock of processor time
};

inline std::uint64_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace tutti::simulated
