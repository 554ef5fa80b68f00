// A schedule is what one rank does in one run of a collective, as data: a pure function of (rank, size, parameters)
// makes it; the executor (core/engine/executor.h) runs it, blocking or resumable; the simulator prices it; tests check it for
// every size without a network; `tutti info --schedule` prints it.
//
// Ranks are indices into the team. Words are indices of 64-byte lines in the control segment that every member owns:
// the same layout in each. All values are multiples of the epoch, so one schedule serves every run.
//
// Dependences are expressed by order and gates. Steps begin in list order. `wait`, `arrive`, `complete` and
// `await_multicast` are gates: nothing behind one begins before it has finished. Everything else finishes in its own
// time, and `complete` waits for the local completion of all of it.
#pragma once
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
  put,              // `bytes` from buffer `from` to buffer `to` of `peer`
  put_signal,       // the same, then word `word` of `peer` set to epoch * multiple
  get,              // `bytes` of `peer`'s buffer `from` into my buffer `to`
  copy,             // `bytes` from my buffer `from` to my buffer `to`
  complete,         // gate: until everything begun so far is locally complete
};

inline constexpr std::uint32_t any_peer = ~std::uint32_t{0};

// A place in one of the buffers that a run is given (index `buffer`), at a byte offset.
struct place {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
};

struct step {
  step_kind kind{};
  std::uint32_t peer = any_peer;   // team index
  std::uint32_t word = 0;          // line in the control segment
  std::uint64_t multiple = 1;      // value = epoch * multiple
  std::uint32_t count = 0;         // arrive: steps to skip
  place from, to;                  // data steps
  std::uint64_t bytes = 0;         // data steps
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
};

// One line a step, for people: "signal 3 word 1", "wait 5 word 2".
std::string to_string(const schedule&);

}  // namespace tutti
