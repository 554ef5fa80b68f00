// A schedule is what one rank does in one run of a collective, as data: a pure function of (rank, size, parameters)
// makes it; the executor (core/engine/executor.h) runs it, blocking or resumable; the simulator prices it; tests check it for
// every size without a network; `tutti info --schedule` prints it.
//
// Ranks are indices into the team. Words are indices of 64-byte lines in the control segment that every member owns:
// the same layout in each. All values are multiples of the epoch, so one schedule serves every run.
//
// Data is spoken of in blocks, not in bytes: how a run's bytes fall into blocks is told when it begins (partition), so one
// schedule, bound once, serves every number of bytes that its blocks hold. A step about a block that is empty in a run is left
// out of it, in all ranks alike.
//
// Dependences are expressed by order and gates. Steps begin in list order. `wait`, `arrive`, `complete` and
// `await_multicast` are gates: nothing behind one begins before it has finished. Everything else finishes in its own
// time, and `complete` waits for the local completion of all of it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace tutti {

enum class step_kind : std::uint8_t {
  signal,           // set word `word` of `peer` to epoch * multiple
  wait,             // gate: until my word `word` has reached epoch * multiple; `peer`: who is to signal it, or any_peer
  arrive,           // gate: fetch_add 1 to word `word` of `peer`; unless that makes it epoch * multiple, skip `count` steps
  multicast,        // send the epoch to the team's multicast group
  await_multicast,  // gate: until the epoch's datagram from `peer` came, or its repair (core/engine/reliable_multicast.h)
  put,              // block `block` of my buffer `from` to the same block of `peer`'s buffer `to`
  put_signal,       // the same, then word `word` of `peer` set to epoch * multiple
  get,              // block `block` of `peer`'s buffer `from` to the same block of my buffer `to`
  copy,             // block `block` of my buffer `from` to the same block of my buffer `to`
  complete,         // gate: until everything begun so far is locally complete
};

inline constexpr std::uint32_t any_peer = ~std::uint32_t{0};

inline constexpr std::uint32_t no_block = ~std::uint32_t{0};

// How the bytes of a run fall into blocks: block i begins at byte i * piece. The last one that has any may be shorter; those
// behind it are empty.
struct partition {
  std::uint64_t bytes = 0, piece = 1;

  std::uint64_t begin(std::uint32_t block) const noexcept { return std::min(bytes, block * piece); }
  std::uint64_t length(std::uint32_t block) const noexcept { return begin(block + 1) - begin(block); }
};

struct step {
  step_kind kind{};
  std::uint32_t peer = any_peer;   // team index
  std::uint32_t word = 0;          // line in the control segment
  std::uint64_t multiple = 1;      // value = epoch * multiple
  std::uint32_t count = 0;         // arrive: steps to skip
  std::uint32_t block = no_block;  // what a data step moves; of others, what they are about, if anything
  std::uint32_t from = 0, to = 0;  // data steps: indices of the buffers that a run is given
};

class schedule {
 public:
  std::vector<step> steps;
  std::uint32_t words = 0;         // lines of control segment that this rank's peers write; the same in every rank
  bool uses_multicast = false;

  step& add(step_kind kind, std::uint32_t peer, std::uint32_t word = 0, std::uint64_t multiple = 1) {
    step& s = steps.emplace_back();
    s.kind = kind, s.peer = peer, s.word = word, s.multiple = multiple;
    return s;
  }
  void signal(std::uint32_t peer, std::uint32_t word) { add(step_kind::signal, peer, word); }
  void wait(std::uint32_t peer, std::uint32_t word) { add(step_kind::wait, peer, word); }
  step& move(step_kind kind, std::uint32_t peer, std::uint32_t block, std::uint32_t from, std::uint32_t to) {
    step& s = add(kind, peer);
    s.block = block, s.from = from, s.to = to;
    return s;
  }
};

// One line a step, for people: "signal 3 word 1", "wait 5 word 2".
std::string to_string(const schedule&);

}  // namespace tutti
