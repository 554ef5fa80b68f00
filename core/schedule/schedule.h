// A schedule is what one rank does in one run of a collective, as data: a pure function of (rank, size, parameters)
// makes it; the executor (core/engine/executor.h) runs it, blocking or resumable; the simulator prices it; tests check it for
// every size without a network; `tutti info --schedule` prints it.
//
// Ranks are indices into the team. Words are indices of 64-byte lines in the control segment that every member owns:
// the same layout in each. All values are multiples of the epoch, so one schedule serves every run.
//
// Data is spoken of in blocks, not in bytes: where the blocks lie and how long they are is told when a run begins (partition), so
// one schedule, bound once, serves every number of bytes that its blocks hold. A step about blocks that are empty in a run is
// left out of it, by whoever sends and whoever waits alike. A block lies in a buffer at its own place among the data, or in a
// slot of a staging buffer, where several blocks lie one behind the other. The blocks of buffer 0, which is what a rank gives,
// have a partition of their own; a step's blocks are as long as where it reads them.
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
  put,              // the blocks `block` and on, `count` of them, in my buffer `from` to `peer`'s buffer `to`
  put_signal,       // the same, then word `word` of `peer` set to epoch * multiple
  get,              // the same from `peer`'s buffer `from` to my buffer `to`
  expose,           // tell `peer`, in its slot `to`, where the block lies in my buffer `from`; then word `word` of it set likewise
  fetch,            // get the block, wherever it lies in the memory of `peer`, as that has told in my slot `from`, into my buffer `to`
  copy,             // the same within this rank; with a peer, from its memory, which is mapped here
  reduce_left,      // the same, to = from op to: `from` is the left operand, of lower ranks than `to`
  reduce_right,     // the same, to = to op from
  complete,         // gate: until everything begun so far is locally complete
};

inline constexpr std::uint32_t any_peer = ~std::uint32_t{0};

inline constexpr std::uint32_t no_block = ~std::uint32_t{0};
inline constexpr std::uint32_t no_slot = ~std::uint32_t{0};

// The blocks of a buffer: block i begins i - first strides behind `from`, and has `piece` bytes, until all of them together have
// `bytes`. Or, where their lengths are unlike, lists say where each begins and how long it is, and a run moves `piece` bytes of
// each at most, behind the first `from`; then steps are about one block each. Of these a run may leave out the short ones, or the long.
struct partition {
  std::uint64_t bytes = 0, piece = 1;
  std::uint64_t stride = 0;                  // 0: piece
  std::uint64_t from = 0;
  std::uint32_t first = 0;
  const std::uint64_t* lengths = nullptr;    // null: alike
  const std::uint64_t* begins = nullptr;     // of lists; null: all at 0, for there is but one
  std::uint64_t over = 0, up_to = ~std::uint64_t{0};  // of lists: blocks of other lengths count as empty

  bool packed() const noexcept { return !lengths && (stride == 0 || stride == piece); }
  std::uint64_t begin(std::uint32_t block) const noexcept {
    if (lengths) return from + (begins ? begins[block] : 0);
    return from + (block - first) * (stride ? stride : piece);
  }
  std::uint64_t length(std::uint32_t block, std::uint32_t count = 1) const noexcept {
    if (lengths) return lengths[block] <= std::max(from, over) || lengths[block] > up_to ? 0 : std::min(piece, lengths[block] - from);
    return std::min(bytes, (block + count) * piece) - std::min(bytes, block * piece);
  }
};

// Where a block lies: in a buffer (which run::begin() is given), at its place among the data or in a slot, behind `behind` others.
struct place {
  std::uint32_t buffer = 0;
  std::uint32_t slot = no_slot;
  std::uint32_t behind = 0;
};

struct step {
  step_kind kind{};
  std::uint32_t peer = any_peer;   // team index
  std::uint32_t word = 0;          // line in the control segment
  std::uint64_t multiple = 1;      // value = epoch * multiple
  std::uint32_t count = 0;         // arrive: steps to skip; data steps: blocks
  std::uint32_t block = no_block;  // the first that a data step moves; of others, what they are about, if anything
  place from{}, to{};              // data steps; a signal or a wait about blocks: `from`, where these are read
  bool one_way = false;            // of a signal or a wait about block `peer`: left out, too, where the peer's block goes the other way

  // Of a signal or a wait: it is about these blocks of that buffer, and left out where they are empty.
  step& about(std::uint32_t first, std::uint32_t buffer, std::uint32_t blocks = 1) noexcept {
    block = first, count = blocks, from.buffer = buffer;
    return *this;
  }
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
  step& move(step_kind kind, std::uint32_t peer, std::uint32_t block, place from, place to, std::uint32_t count = 1) {
    step& s = add(kind, peer);
    s.block = block, s.count = count, s.from = from, s.to = to;
    return s;
  }
  // Steps within this rank.
  step& local(step_kind kind, std::uint32_t block, place from, place to, std::uint32_t count = 1) {
    return move(kind, any_peer, block, from, to, count);
  }
  void put_signal(std::uint32_t peer, std::uint32_t word, std::uint32_t block, place from, place to, std::uint32_t count = 1) {
    move(step_kind::put_signal, peer, block, from, to, count).word = word;
  }
  // For these blocks, which another rank puts.
  void await(std::uint32_t peer, std::uint32_t word, std::uint32_t block, std::uint32_t count = 1) {
    add(step_kind::wait, peer, word).about(block, 1, count);
  }
};

// One line a step, for people: "signal 3 word 1", "wait 5 word 2".
std::string to_string(const schedule&);

}  // namespace tutti
