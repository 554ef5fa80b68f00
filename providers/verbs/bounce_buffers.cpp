#include "providers/verbs/bounce_buffers.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/base/copy.h"
#include "providers/verbs/error.h"

namespace tutti::verbs {
namespace {

constexpr std::uint64_t no_answer = 0x9d1f'5c0b'7a3e'48d7;  // random

}  // namespace

status bounce_buffers::open(ibv_pd* pd, const adapter& device, region_table& regions) noexcept {
  pd_ = pd, device_ = &device, regions_ = &regions;
  pieces_.reset(new (std::nothrow) piece[bounce_count]);
  if (!pieces_) return {errc::no_resource, "no memory for a table of buffers"};
  for (std::uint16_t i = 1; i < bounce_count; ++i) pieces_[i - 1].next = static_cast<std::uint16_t>(i + 1);
  free_ = 1, free_count_ = bounce_count;
  return {};
}

void bounce_buffers::close() noexcept {
  if (mr_) ibv_dereg_mr(std::exchange(mr_, nullptr));
  std::free(std::exchange(base_, nullptr));
}

status bounce_buffers::open_buffers() noexcept {
  const std::size_t bytes = std::size_t{bounce_count} * bounce_bytes;
  base_ = static_cast<std::byte*>(std::aligned_alloc(4096, bytes));
  mr_ = base_ ? ibv_reg_mr(pd_, base_, bytes, IBV_ACCESS_LOCAL_WRITE) : nullptr;
  if (mr_) return {};
  const int error = errno;
  close();
  return os_error(worded("registering ", bytes, " bytes of buffers with ", device_->where.device), error);
}

// For the first free piece. The adapter only reads what it sends, so that a put may come from memory that cannot be written.
status bounce_buffers::fill(std::byte* memory, std::uint32_t bytes, bool lands, ibv_sge& where) noexcept {
  if (bytes <= bounce_bytes) {
    if (!mr_)
      if (status s = open_buffers(); s.failed()) return s;
    if (!lands) copy_bytes(buffer(free_), memory, bytes);
    where = {reinterpret_cast<std::uint64_t>(buffer(free_)), bytes, mr_->lkey};
    return {};
  }
  ibv_mr* const mr = ibv_reg_mr(pd_, memory, bytes, lands ? IBV_ACCESS_LOCAL_WRITE : 0);
  if (!mr) return os_error(worded("registering ", bytes, " bytes with ", device_->where.device), errno);
  ++registrations_;
  pieces_[free_ - 1].mr = mr;
  where = {reinterpret_cast<std::uint64_t>(memory), bytes, mr->lkey};
  return {};
}

// unregistered_memory: it lies in none.
bool bounce_buffers::find_region(const slice& s, region_id& in, status& why) noexcept {
  const bool named = s.local != unregistered_memory;
  in = named ? s.local : regions_->around(s.local_offset, s.bytes);
  if (!named || regions_->find(in)) return true;
  why = {errc::invalid, "the operation names local memory that is no region, or no longer"};
  return false;
}

// A slice of a list names its region by the list; if it names none, a piece stands for it.
bool bounce_buffers::take(const slice& s, bool lands, posted& what, ibv_sge& where, status& why) noexcept {
  region_id in;
  if (!find_region(s, in, why)) return false;
  if (in == unregistered_memory) return take_copy(reinterpret_cast<std::byte*>(s.local_offset), s.bytes, lands, what, where, why);
  const bool named = s.local != unregistered_memory;
  const region& r = *regions_->find(in);
  where = {named ? reinterpret_cast<std::uint64_t>(r.base) + s.local_offset : s.local_offset, s.bytes, r.mr->lkey};
  if (!what.scatter) return what.local = in, true;
  if (named) return true;
  if (!free_) return false;
  regions_->use(in, 1);
  pieces_[free_ - 1].region = in;
  taken(what);
  return true;
}

bool bounce_buffers::take_copy(std::byte* memory, std::uint32_t bytes, bool lands, posted& what, ibv_sge& where,
                               status& why) noexcept {
  if (!free_) return false;
  if (why = fill(memory, bytes, lands, where); why.failed()) return false;
  piece& p = pieces_[free_ - 1];
  p.memory = memory, p.bytes = bytes, p.lands = lands;
  taken(what);
  return true;
}

void bounce_buffers::taken(posted& what) noexcept {
  const std::uint16_t first = std::exchange(free_, pieces_[free_ - 1].next);
  pieces_[first - 1].next = std::exchange(what.index, first);
  --free_count_;
}

// Soft-RoCE (of Linux 6.1, where it was tried) completes an atomic without its answer now and then, where packets overtake
// each other and a write follows it; it takes effect once all the same. So there the answer lands in a buffer of its own,
// which says before that nothing has come, and after it whether that is still so. (The caller's memory would not do: several
// atomics under way may name one place.)
bool bounce_buffers::take_for_answer(const rma_op& op, posted& what, ibv_sge& where, status& why) noexcept {
  const slice s{op.local, 8, op.local_offset};
  if (!device_->where.software) return take(s, true, what, where, why);
  region_id in;
  if (!find_region(s, in, why)) return false;
  if (!take_copy(regions_->local(op.local, op.local_offset), 8, true, what, where, why)) return false;
  what.local = in;  // which stays, though it be dropped meanwhile
  expect_answer(reinterpret_cast<std::byte*>(where.addr));
  return true;
}

void bounce_buffers::expect_answer(std::byte* at) noexcept { std::memcpy(at, &no_answer, sizeof no_answer); }

bool bounce_buffers::answered(const std::byte* at) const noexcept {
  return !device_->where.software || std::memcmp(at, &no_answer, sizeof no_answer) != 0;
}

void bounce_buffers::give_back(std::uint16_t first, bool landed) noexcept {
  while (first) {
    piece& p = pieces_[first - 1];
    if (p.region != unregistered_memory) regions_->use(p.region, -1);
    else if (p.mr) ibv_dereg_mr(p.mr), --registrations_;
    else if (p.lands && landed) copy_bytes(p.memory, buffer(first), p.bytes);
    const std::uint16_t next = p.next;
    p = {};
    p.next = std::exchange(free_, first);
    ++free_count_;
    first = next;
  }
}

}  // namespace tutti::verbs
