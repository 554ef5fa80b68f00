// The work requests of one RC queue pair that were posted and are not known to be complete.
//
// An adapter completes the requests of a queue pair in the order in which they were posted, so the completion of one
// tells that all before it have ended well. Hence only some ask for a completion entry (selective signalling): those
// that somebody waits for, or that hold what others may wait for, and at least every (depth / 4)th, so that a queue that
// is full always has one under way that will make room. A request that fails asks or not: it always gets an entry, and so do all behind it ("flushed").
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>

#include "core/transport/transport.h"

namespace tutti::verbs {

enum class work : std::uint8_t {
  write,   // put, signal, bell
  read,    // get, get_scatter
  atomic,  // fetch_add, compare_swap, added signal
  swap,    // an attempt at a swap
  flush,   // reads 8 bytes
  probe,   // writes none: does the peer's adapter answer?
  packet,  // a two-sided message
  room,    // what is said about these
};

struct posted {
  completion* done = nullptr;       // counted in, to be finished with this request
  const slice* scatter = nullptr;   // get_scatter: its list
  region_id local = unregistered_memory;   // memory of mine that the adapter uses until then, if not by a list
  work kind = work::write;
  std::uint8_t slices = 0;
  std::uint16_t index = 0;          // swap: which; else the first bounce buffer, 0: none
};
static_assert(sizeof(posted) == 24);

class send_queue {
 public:
  // `name` comes back in the upper half of every wr_id. The queue pair stays its owner's.
  void open(ibv_qp* qp, std::uint32_t depth, std::uint32_t name);
  void close() noexcept { qp_ = nullptr; }
  bool is_open() const noexcept { return qp_ != nullptr; }
  ibv_qp* qp() const noexcept { return qp_; }
  std::uint32_t name() const noexcept { return name_; }

  std::uint32_t in_flight() const noexcept { return head_ - tail_; }
  std::uint32_t room() const noexcept { return depth_ - in_flight(); }
  std::uint32_t head() const noexcept { return head_; }  // sequence number of the next request
  bool reads_in_flight() const noexcept { return reads_ != 0; }

  // Posts wrs in one go; what[i] belongs to wrs[i]. Needs room for all. 0, or an errno: then nothing of it is on record,
  // though the adapter may have some, and the queue pair must not be used any longer.
  int post(std::span<ibv_send_wr> wrs, std::span<const posted> what) noexcept;

  // Everything up to and including `sequence` has ended: `each` gets the records in order.
  template <class Each>
  void retire(std::uint32_t sequence, Each&& each) {
    while (static_cast<std::int32_t>(sequence - tail_) >= 0 && tail_ != head_) {
      const posted p = records_[tail_ & (depth_ - 1)];
      ++tail_;
      if (p.kind == work::read) --reads_;
      each(p);
    }
  }

 private:
  ibv_qp* qp_ = nullptr;
  std::unique_ptr<posted[]> records_;  // a power of two
  std::uint32_t depth_ = 0;
  std::uint32_t name_ = 0;
  std::uint32_t head_ = 0, tail_ = 0;  // sequence numbers
  std::uint32_t silent_ = 0;           // posted since the last that asked for an entry
  std::uint32_t reads_ = 0;            // gets among those in flight
};

constexpr std::uint32_t name_of_id(std::uint64_t wr_id) noexcept { return static_cast<std::uint32_t>(wr_id >> 32); }
constexpr std::uint32_t sequence_of_id(std::uint64_t wr_id) noexcept { return static_cast<std::uint32_t>(wr_id); }

}  // namespace tutti::verbs
