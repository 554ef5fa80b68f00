// One put or get between layouts, made into as few operations of the fabric as pay.
//
//   mapped     the copies are made here. One operation of no bytes follows, which carries the completion, the error if the target
//              is dead, and the place among the operations towards it that later signals keep.
//   get        one operation for each run of the target's bytes in one piece, scattered over the places here where the fabric takes
//              slices (caps().max_slices at a time); else one for each run that is in one piece at both ends.
//   put        one operation for each run that is in one piece at both ends. Blocks here that are shorter than what an operation costs
//              (short_block) and go to one run of the target's bytes are packed, and leave by one operation.
//
// Scheduling (Huang 2005, 3.3). Runs are taken up some at a time, put in the order of the target's addresses where they are not in it,
// and joined where they adjoin at both ends: so lists in any order, and strides that count backwards, leave as ordered ones
// do. Data of one call have no order among themselves, and operations none at all (clause 5), so that nobody can see the difference.
// What was tried and left out: to hold puts back until the gets of later calls have been begun. Of 16 puts and 16 gets over tcp on one
// machine, begun one by one, gets first take 5 to 25 % less time than puts first, and in turn about as much as gets first (8 B to 16 KiB).
// But who holds puts back delays them when no get follows, and what the program computes meanwhile hides nothing; so the order of
// calls is the program's (api/tutti.h tells it). Within a call there are only puts or only gets.
#pragma once
#include <cstdint>

#include "core/base/layout.h"
#include "core/job/job.h"
#include "messaging/packing_memory.h"

namespace tutti::messaging {

struct layout_transfer {
  op_kind kind;                     // put or get
  const void* base;                 // here, of `here`; written to by a get
  const block_layout* here;
  rank_t rank;                      // of the job
  segment_id segment;
  std::uint64_t offset;             // there, of `there`
  const block_layout* there;         // lists as many bytes, all of them inside the member's region
  std::byte* mapped = nullptr;      // the member's region, where this process reaches it
  packing_memory::owner owner;             // in whose completion all operations count
  std::uint64_t most_bytes;         // of one operation
  bool give_progress = false;       // between many operations, since the peers need it
};

// The longest block that is cheaper to copy than to send by an operation of its own.
std::size_t short_block(const loggp&) noexcept;

// Submits all operations; waits while the queue is full or no slot of it is free. Errors are the operations'.
status transfer(job&, packing_memory&, const layout_transfer&) noexcept;

}  // namespace tutti::messaging
