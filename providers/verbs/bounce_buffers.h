// Local memory as the adapter needs it: registered. Memory of a region is. Any other (unregistered_memory) is found in a region,
// copied to a bounce buffer, or registered for as long as one operation takes.
//
// - What lies in a region of this process, named or not, goes by that region's registration, found by its address.
// - Up to bounce_bytes go through a buffer that was registered once, when the first was needed. A put is copied there and is
//   done at once, like one that goes inline; what a get or an atomic brings is copied from there when it has landed.
// - More is registered for this one operation, and deregistered before its completion is told.
//
// Why the last is no cache. A registration that outlives its operation must be told of every munmap() behind it: the
// adapter keeps the pages that the address had, and would read and write those. Here a registration stands from submit()
// until the completion, and for so long the memory is the operation's by clause 3, mapped and unmoved. So there is nobody
// to be told. The price is two system calls and the pinning of its pages for each operation, small beside the time that
// a large one is on its way; whoever passes the same memory again and again add()s it, and has it found. (Engines above the
// contract keep registrations where they can be told of each munmap(), core/job/registration_cache.h. What they have kept is not found
// here, transport::add_unowned(), since they look for news only when they use it.)
//
// There are bounce_count at once; if none is free the transport is full (clause 2). So it is when the system will not lock as
// much more while there is something of other operations to be deregistered; if there is nothing, it never will, and the
// operation ends with that error. A request with a buffer always asks for a completion entry (send_queue.cpp), so that
// buffers return whatever else is posted.
#pragma once
#include <infiniband/verbs.h>

#include <memory>

#include "core/transport/transport.h"
#include "providers/verbs/regions.h"
#include "providers/verbs/send_queue.h"

namespace tutti::verbs {

inline constexpr std::uint32_t bounce_count = 64, bounce_bytes = 8192;

class bounce_buffers {
 public:
  bounce_buffers() = default;
  bounce_buffers(const bounce_buffers&) = delete;
  bounce_buffers& operator=(const bounce_buffers&) = delete;
  ~bounce_buffers() { close(); }

  status open(ibv_pd*, const adapter&, region_table&) noexcept;
  void close() noexcept;

  // Where the adapter finds the slice. Enters in `what` what is to be given back with the request: a region, or the first of
  // the operation's buffers. `lands`: the adapter writes there. False: it cannot be, or, if `why` is ok, all are taken.
  bool take(const slice&, bool lands, posted& what, ibv_sge& where, status& why) noexcept;
  // The same for the old value of an atomic.
  bool take_for_answer(const rma_op&, posted& what, ibv_sge& where, status& why) noexcept;
  // All of an operation. `landed`: the adapter has written to them.
  void give_back(std::uint16_t first, bool landed) noexcept;

  std::uint32_t free() const noexcept { return free_count_; }
  bool has_registrations() const noexcept { return registrations_ > 0; }  // to be deregistered with their operations
  bool copied(std::uint16_t first) const noexcept { return first && !pieces_[first - 1].mr; }

  // Soft-RoCE completes an atomic without its answer now and then: see take_for_answer().
  bool answered(std::uint16_t first) const noexcept { return answered(buffer(first)); }
  bool answered(const std::byte* at) const noexcept;
  static void expect_answer(std::byte* at) noexcept;

 private:
  struct piece {                  // of memory, while an operation has it
    std::byte* memory = nullptr;
    ibv_mr* mr = nullptr;         // registered for the operation
    region_id region = unregistered_memory;  // or found in this one
    std::uint32_t bytes = 0;
    bool lands = false;           // goes from the buffer to `memory` at the end
    std::uint16_t next = 0;       // of the same operation, or free; counted from 1, as everywhere: 0 is none
  };
  status open_buffers() noexcept;
  status fill(std::byte* memory, std::uint32_t bytes, bool lands, ibv_sge& where) noexcept;
  bool find_region(const slice&, region_id&, status& why) noexcept;
  bool take_copy(std::byte* memory, std::uint32_t bytes, bool lands, posted&, ibv_sge&, status& why) noexcept;
  void taken(posted&) noexcept;
  std::byte* buffer(std::uint16_t place) const noexcept { return base_ + std::size_t{place - 1u} * bounce_bytes; }

  ibv_pd* pd_ = nullptr;
  const adapter* device_ = nullptr;
  region_table* regions_ = nullptr;
  std::byte* base_ = nullptr;     // bounce_bytes for each piece; none before they are needed
  ibv_mr* mr_ = nullptr;
  std::unique_ptr<piece[]> pieces_;
  std::uint16_t free_ = 0;
  std::uint32_t free_count_ = 0;
  std::uint32_t registrations_ = 0;
};

}  // namespace tutti::verbs
