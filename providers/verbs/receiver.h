// What arrives at a rank and needs more than memory: RDMA writes with an immediate (rings), and SENDs (packets: two-sided
// messages and what is said about them, packets.h). Both take a receive from one shared receive queue, and leave an entry in
// one completion queue, which can wake a sleeper. A receive serves either, so that each has a buffer, of which a ring takes no
// notice.
//
// Who keeps receives posted. Signals stay one-sided: a rank that computes for long takes nothing from this queue, and bells
// for it go on coming. Its owner refills the queue in progress(); if that does not happen, the adapter raises its limit event,
// and the connection manager's thread drains it. It posts again at once whatever it need not keep: bells carry nothing, so it
// drops them (the entry that they made has woken the owner, if it slept); other rings wait in an inbox; what packets say of room
// is kept in one place for each origin. Only messages stay in their buffers until they were received.
//
// Why it never runs dry for good. A message comes only where its origin was allowed to send it, and packets.h allows, to all
// together, no more than there are buffers beside those for rings; one that comes again is dropped like a bell. So whatever is
// sent, and whether this rank's program runs or not, that many receives are posted, or are about to be by a thread that does
// nothing else for long. "The sender tries again" would not do: everything goes by one queue pair, and behind a message that
// finds no receive there may be a signal which this rank waits for before it receives anything. A sender that comes upon an
// empty queue all the same (more rings at once than the thread can follow) is told so by this adapter and tries again, without
// an end: receiver-not-ready is the answer of an adapter that lives. The completion queue has room for every receive of the
// queue, so it cannot overrun.
//
// Who sent it. The queue pair says so: one is connected to one rank, by connection managers that have proved to be of the job,
// so that nobody sends in another's name. (Rings name their origin themselves.)
//
// When a queue pair goes, what had come by it is taken first (dismiss()), since libraries drop the entries of a queue pair
// with it: its sender was told that it has arrived.
//
// Thread-safe.
#pragma once
#include <infiniband/verbs.h>

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "providers/common/linked.h"
#include "providers/verbs/packet_buffers.h"
#include "providers/verbs/packet_origin.h"

namespace tutti::verbs {

class receiver {
 public:
  struct item {
    rank_t from;
    ring_kind kind;
  };
  static constexpr std::uint32_t none = ~0u;

  ~receiver() { close(); }
  status open(const adapter&, ibv_pd*, ibv_comp_channel*, std::uint32_t ranks);
  void close() noexcept;

  ibv_cq* cq() const noexcept { return cq_; }
  ibv_srq* srq() const noexcept { return srq_; }
  std::uint32_t depth() const noexcept { return depth_; }   // receives, at most
  std::uint32_t leases() const noexcept { return leases_; } // of those that there are from the beginning: for messages

  // The connection manager's: this queue pair is connected to that rank. No memory: false.
  bool admit(std::uint32_t qpn, rank_t) noexcept;
  void dismiss(std::uint32_t qpn) noexcept;  // it is in error, and about to be destroyed
  void refill_from_event() noexcept;         // the limit event's answer

  // The owner's. Moves what is no bell to `out`, and lets next_message() and next_news() find what has come. Returns how many
  // arrived, bells included.
  unsigned take(std::vector<item>& out) noexcept;
  std::uint32_t next_message() noexcept;     // its buffer; none: no more
  bool next_news(packet_news& out) noexcept;
  rank_t origin_of(std::uint32_t place) const noexcept { return records_[place].from; }
  const std::byte* at(std::uint32_t place) const noexcept { return buffers_.at(place); }
  void give_back(std::uint32_t place) noexcept;
  bool grow() noexcept;                      // by slab_buffers. False: there cannot be more
  packet_origin* find(rank_t) noexcept;      // lives as long as this; null: never admitted
  void allow(packet_origin&, std::uint32_t before) noexcept;

 private:
  struct record {                            // of a buffer
    std::uint32_t next = none;
    rank_t from = no_rank;
  };
  unsigned drain() noexcept;  // under mutex_; so are all below
  bool keeps(const ibv_wc&) noexcept;
  void free(std::uint32_t place) noexcept;
  void refill(std::uint32_t unless_fewer) noexcept;
  void set_limit() noexcept;

  std::mutex mutex_;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  std::uint32_t depth_ = 0, leases_ = 0, batch_ = 1, limit_ = 0;
  packet_buffers buffers_;
  std::unique_ptr<record[]> records_;
  std::uint32_t free_ = none, free_count_ = 0;          // to be posted again
  std::uint32_t first_ = none, last_ = none;            // messages that came, not yet the owner's
  linked_queue<packet_origin> news_;
  unsigned drained_ = 0;                                // by the connection manager, not yet told to the owner
  std::vector<item> inbox_;
  std::unordered_map<rank_t, packet_origin> origins_;
  std::unordered_map<std::uint32_t, packet_origin*> connected_;  // by number of the queue pair
  std::uint32_t taken_first_ = none, taken_last_ = none;  // the owner's own
  bool taken_news_ = false;
};

}  // namespace tutti::verbs
