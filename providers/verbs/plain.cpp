// Local memory as the adapter needs it: registered. Memory of a region is. Any other (plain_memory) is found in a region,
// or lent to the adapter for as long as one operation takes.
//
// - What lies in a region of this process, named or not, goes by that region's registration, found by its address.
// - Up to loan_bytes go through a buffer that was registered once, when the first was needed. A put is copied there and is
//   done at once, like one that goes inline; what a get or an atomic brings is copied from there when it has landed.
// - More is registered for this one operation, and deregistered before its completion is told.
//
// Why the last is no cache. A registration that outlives its operation must be told of every munmap() behind it: the
// adapter keeps the pages that the address had, and would read and write those. Here a registration stands from submit()
// until the completion, and for so long the memory is the operation's by clause 3, mapped and unmoved. So there is nobody
// to be told. The price is two system calls and the pinning of its pages for each operation, small beside the time that
// a large one is on its way; whoever passes the same memory again and again add()s it, and has it found.
//
// There are most_loans at once; if none is free the transport is full (clause 2). So it is when the system will not lock as
// much more while there is something of other operations to be deregistered; if there is nothing, it never will, and the
// operation ends with that error. A request with a loan always asks for a completion entry (send_queue.cpp), so that loans
// return whatever else is posted.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {

static_assert(most_slices <= most_loans, "a get into as many pieces of plain memory as it may name");

// --- regions by address ------------------------------------------------------------------------------------------------
// They may overlap. Of all that begin at or before an address, the one that reaches furthest holds a range from there if
// any of them does: so each entry, in the order of the beginnings, names the furthest up to itself.
void verbs_transport::index_from(std::size_t place) noexcept {
  for (std::size_t i = place; i < by_address_.size(); ++i) {
    const std::uint32_t before = i ? by_address_[i - 1].furthest : 0;
    by_address_[i].furthest = i && by_address_[before].end >= by_address_[i].end ? before : static_cast<std::uint32_t>(i);
  }
}

void verbs_transport::index(std::uint32_t slot) noexcept {  // there is room
  const auto begin = reinterpret_cast<std::uint64_t>(regions_[slot].base);
  const auto at = std::upper_bound(by_address_.begin(), by_address_.end(), begin,
                                   [](std::uint64_t b, const extent& e) { return b < e.begin; });
  const auto put = by_address_.insert(at, {begin, begin + regions_[slot].bytes, slot, 0});
  index_from(static_cast<std::size_t>(put - by_address_.begin()));
}

void verbs_transport::unindex(std::uint32_t slot) noexcept {
  const auto at = std::find_if(by_address_.begin(), by_address_.end(), [&](const extent& e) { return e.slot == slot; });
  if (at != by_address_.end()) index_from(static_cast<std::size_t>(by_address_.erase(at) - by_address_.begin()));
}

region* verbs_transport::region_around(std::uint64_t address, std::uint64_t bytes) noexcept {
  const auto above = std::upper_bound(by_address_.begin(), by_address_.end(), address,
                                      [](std::uint64_t a, const extent& e) { return a < e.begin; });
  if (above == by_address_.begin()) return nullptr;
  const extent& furthest = by_address_[(above - 1)->furthest];
  return furthest.end > address && furthest.end - address >= bytes ? &regions_[furthest.slot] : nullptr;
}

// --- loans -------------------------------------------------------------------------------------------------------------
status verbs_transport::open_loans() noexcept {
  loans_.reset(new (std::nothrow) loan[most_loans]);
  if (!loans_) return {errc::no_resource, "no memory for a table of loans"};
  for (std::uint16_t i = 1; i < most_loans; ++i) loans_[i - 1].next = static_cast<std::uint16_t>(i + 1);
  free_loan_ = 1, loans_free_ = most_loans;
  return {};
}

void verbs_transport::close_loans() noexcept {
  if (buffers_.mr) ibv_dereg_mr(buffers_.mr);
  std::free(buffers_.base);
  buffers_ = {};
}

status verbs_transport::open_buffers() noexcept {
  const std::size_t bytes = std::size_t{most_loans} * loan_bytes;
  void* const base = std::aligned_alloc(4096, bytes);
  ibv_mr* const mr = base ? ibv_reg_mr(pd_.get(), base, bytes, IBV_ACCESS_LOCAL_WRITE) : nullptr;
  if (!mr) {
    const int error = errno;
    std::free(base);
    return os_error("registering " + std::to_string(bytes) + " bytes of buffers with " + device_.where.device, error);
  }
  buffers_.base = static_cast<std::byte*>(base), buffers_.bytes = bytes, buffers_.mr = mr;
  return {};
}

// The adapter only reads what it sends, so that a put may come from memory that cannot be written.
status verbs_transport::lend(std::byte* memory, std::uint32_t bytes, bool lands, loan& l, ibv_sge& where) noexcept {
  if (bytes <= loan_bytes) {
    if (!buffers_.mr)
      if (status s = open_buffers(); s.failed()) return s;
    std::byte* const buffer = buffer_of(static_cast<std::uint16_t>(&l - loans_.get() + 1));
    if (!lands) std::memcpy(buffer, memory, bytes);
    where = {reinterpret_cast<std::uint64_t>(buffer), bytes, buffers_.mr->lkey};
    return {};
  }
  l.mr = ibv_reg_mr(pd_.get(), memory, bytes, lands ? IBV_ACCESS_LOCAL_WRITE : 0);
  if (!l.mr) return os_error("registering " + std::to_string(bytes) + " bytes with " + device_.where.device, errno);
  ++registered_loans_;
  where = {reinterpret_cast<std::uint64_t>(memory), bytes, l.mr->lkey};
  return {};
}

bool verbs_transport::find_region(const slice& s, region*& r, status& why) noexcept {
  r = s.local == plain_memory ? region_around(s.local_offset, s.bytes) : region_at(s.local);
  if (r || s.local == plain_memory) return true;
  why = {errc::invalid, "the operation names local memory that is no region, or no longer"};
  return false;
}

// Enters in `what` what is to be given back with the request: a region, or the first of the operation's loans. A slice of a
// list names its region by the list; if it names none, a loan stands for it.
bool verbs_transport::borrow(const slice& s, bool lands, posted& what, ibv_sge& where, status& why) noexcept {
  const bool plain = s.local == plain_memory;
  region* r;
  if (!find_region(s, r, why)) return false;
  if (r) {
    const auto address = plain ? s.local_offset : reinterpret_cast<std::uint64_t>(r->base) + s.local_offset;
    where = {address, s.bytes, r->mr->lkey};
    const region_id id = plain ? id_of(*r) : s.local;
    if (!what.scatter) return what.local = id, true;
    if (!plain) return true;
    if (!free_loan_) return false;
    use(id, 1);
    loan& l = loans_[free_loan_ - 1];
    l.region = id;
    take_loan(what);
    return true;
  }
  return borrow_copy(reinterpret_cast<std::byte*>(s.local_offset), s.bytes, lands, what, where, why);
}

bool verbs_transport::borrow_copy(std::byte* memory, std::uint32_t bytes, bool lands, posted& what, ibv_sge& where,
                                  status& why) noexcept {
  if (!free_loan_) return false;
  loan& l = loans_[free_loan_ - 1];
  if (why = lend(memory, bytes, lands, l, where); why.failed()) return false;
  l.memory = memory, l.bytes = bytes, l.lands = lands;
  take_loan(what);
  return true;
}

void verbs_transport::take_loan(posted& what) noexcept {
  const std::uint16_t taken = std::exchange(free_loan_, loans_[free_loan_ - 1].next);
  loans_[taken - 1].next = std::exchange(what.index, taken);
  --loans_free_;
}

// Where the old value of an atomic goes. Soft-RoCE (of Linux 6.1, where it was tried) completes an atomic without its answer
// now and then, where packets overtake each other and a write follows it; it takes effect once all the same. So there the
// answer lands in a buffer of its own, which says before that nothing has come, and after it whether that is still so. (The
// caller's memory would not do: several atomics under way may name one place.)
bool verbs_transport::borrow_answer(const rma_op& op, posted& what, ibv_sge& where, status& why) noexcept {
  const slice s{op.local, 8, op.local_offset};
  if (!device_.where.software) return borrow(s, true, what, where, why);
  region* r;
  if (!find_region(s, r, why)) return false;
  if (!borrow_copy(local_address(op.local, op.local_offset), 8, true, what, where, why)) return false;
  if (r) what.local = id_of(*r);  // which stays, though it be dropped meanwhile
  expect_answer(reinterpret_cast<std::byte*>(where.addr));
  return true;
}

void verbs_transport::expect_answer(std::byte* at) noexcept { std::memcpy(at, &no_answer, sizeof no_answer); }

bool verbs_transport::answered(const std::byte* at) const noexcept {
  return !device_.where.software || std::memcmp(at, &no_answer, sizeof no_answer) != 0;
}

bool verbs_transport::unlent(const rma_op& op, peer& p, std::uint16_t borrowed, status why) noexcept {
  repay(borrowed, false);
  const bool later = why.ok() || (why.code() == errc::no_resource && registered_loans_ > 0);
  return later ? false : ends_at_once(op, p, status{why.code(), std::string{why.text()}, p.rank, why.native()});
}

void verbs_transport::repay(std::uint16_t first, bool landed) noexcept {
  while (first) {
    loan& l = loans_[first - 1];
    if (l.region != plain_memory) use(l.region, -1);
    else if (l.mr) ibv_dereg_mr(l.mr), --registered_loans_;
    else if (l.lands && landed) std::memcpy(l.memory, buffer_of(first), l.bytes);
    const std::uint16_t next = l.next;
    l = {};
    l.next = std::exchange(free_loan_, first);
    ++loans_free_;
    first = next;
  }
}

}  // namespace tutti::verbs
