// What arrives at a rank and needs more than memory: RDMA writes with an immediate. They take a request from one shared
// receive queue, and leave an entry in one completion queue, which can wake a sleeper.
//
// Who keeps receives posted. Signals stay one-sided: a rank that computes for long takes nothing from this queue, and
// bells for it go on coming. Its owner refills the queue in progress(); if that does not happen, the adapter raises its
// limit event when half of the queue is gone, and the connection manager's thread drains it. Bells carry nothing, so it drops them
// (the entry that they made has woken the owner, if it slept); the rest waits in an inbox. A sender that comes upon an
// empty queue all the same is told so by this adapter and tries again, without an end: receiver-not-ready is the answer
// of an adapter that lives. The completion queue has room for every receive of the queue, so it cannot overrun.
//
// Thread-safe.
#pragma once
#include <infiniband/verbs.h>

#include <memory>
#include <mutex>
#include <vector>

#include "providers/verbs/device.h"
#include "providers/verbs/wire.h"

namespace tutti::verbs {

class receiver {
 public:
  struct item {
    rank_t from;
    ring_kind kind;
  };

  ~receiver() { close(); }
  status open(const adapter&, ibv_pd*, ibv_comp_channel*);
  void close() noexcept;

  ibv_cq* cq() const noexcept { return cq_; }
  ibv_srq* srq() const noexcept { return srq_; }

  // Moves what is not a bell to `out`. Returns how many arrived, bells included.
  unsigned take(std::vector<item>& out) noexcept;
  void refill_from_event() noexcept;  // the limit event's answer

 private:
  unsigned drain() noexcept;  // under mutex_
  void refill() noexcept;
  void set_limit() noexcept;

  std::mutex mutex_;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  std::uint32_t depth_ = 0;
  std::uint32_t used_ = 0;     // receives to be posted again
  unsigned drained_ = 0;       // by the connection manager, not yet told to the owner
  std::vector<item> inbox_;
};

}  // namespace tutti::verbs
