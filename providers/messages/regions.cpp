#include "providers/messages/regions.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/base/file_limit.h"
#include "core/base/copy.h"
#include "core/base/dev_shm.h"
#include "core/base/random.h"
#include "core/base/round_up.h"
#include "providers/messages/wire.h"

namespace tutti::messages {
namespace {

constexpr std::size_t fewest_places = 16, most_places = std::size_t{1} << 20;

}  // namespace

// False: there are too many.
bool region_table::make_room() {
  if (2 * (count_ + 1) <= regions_.size()) return true;
  if (regions_.size() >= most_places) return false;
  std::vector<region> old(std::max(fewest_places, 2 * regions_.size()));
  old.swap(regions_);
  for (region& r : old)
    if (r.base) std::swap(place(r.id), r);
  return true;
}

status region_table::register_region(region& r) noexcept {
  if (!reach_) return {};
  try {
    auto registered = reach_->register_region({r.base, r.bytes}, r.key);
    if (!registered.ok()) return registered.error();
    r.registered = *registered;
    return {};
  } catch (const std::bad_alloc&) {
    return {errc::no_resource, "no memory for a region's key"};
  }
}

// A failure has given its memory back.
result<region_id> region_table::enter(region r) noexcept {
  constexpr auto no_id = static_cast<std::uint32_t>(unregistered_memory);
  status why;
  try {
    if (!make_room()) why = {errc::no_resource, "too many regions"};
  } catch (const std::bad_alloc&) {
    why = {errc::no_resource, "no memory for a region"};
  }
  while (why.ok()) {
    if (!draw(r.id)) {
      why = {errc::no_resource, "the kernel gives no random id for a region", no_rank, errno};
    } else if (region& at = place(r.id); !at.base && r.id != 0 && r.id != no_id) {
      at = std::move(r);
      ++count_;
      return region_id{at.id};
    }
  }
  release(r);
  return why;
}

// Where this rank's program drives what peers do by key, a library that has begun with that goes on, through calls that come
// after drop(). The caller's memory is gone by then: so it has no key, and only messages touch it.
result<region_id> region_table::add(std::span<std::byte> memory, bool by_address) noexcept {
  if (memory.empty()) return status{errc::invalid, "a region of 0 bytes cannot be added"};
  region r;
  r.base = memory.data(), r.bytes = memory.size();
  if (reach_ && reach_->alone())
    if (status s = register_region(r); s.failed()) return s;
  if (r.registered && !by_address) reach_->hide(r.registered);
  return enter(std::move(r));
}

result<region_id> region_table::allocate(std::size_t bytes, std::span<std::byte>& memory) noexcept {
  if (bytes == 0) return status{errc::invalid, "a region of 0 bytes cannot be allocated"};
  const std::size_t rounded = round_up(bytes, 4096);
  if (rounded < bytes) return status{errc::invalid, worded("a region of ", bytes, " bytes cannot exist")};
  region r;
  r.bytes = bytes;
  if (mappable_) {
    r.memory = create_shared_memory(rounded);
    r.base = r.memory.here.base;
    // Without a word the memory would be private, and everything upon it go by message.
    if (r.memory.too_long)
      return status{errc::no_resource, worded("a window or a team's memory of ", rounded, " bytes is longer than files may be here", remedy_of_long_files)};
    if (r.memory.full) return dev_shm_too_small("a window or a team's memory of this rank", rounded, room_in_dev_shm());
  }
  if (!r.base) {
    r.own = private_memory(rounded);
    r.base = r.own.base;
    if (!r.base) return status{errc::no_resource, worded("no memory for ", bytes, " bytes")};
  }
  if (status s = register_region(r); s.failed()) {
    release(r);
    return s;
  }
  std::byte* const base = r.base;
  auto entered = enter(std::move(r));
  if (entered.ok()) memory = {base, bytes};
  return entered;
}

result<std::vector<std::byte>> region_table::key(region_id id) const {
  const region* r = find(id);
  if (!r) return status{errc::invalid, "key() of a region that does not exist"};
  key_head head;
  head.region = static_cast<std::uint32_t>(id);
  head.bytes = r->bytes;
  head.memory = r->memory.name();
  head.key_bytes = static_cast<std::uint32_t>(r->key.size());
  std::vector<std::byte> blob;
  append(blob, &head);
  append(blob, r->key.data(), r->key.size());
  return blob;
}

// Into the origin's memory, which lives until the operation is done; dropped regions are skipped all the same.
void region_table::land(const rma_op& op, std::uint64_t offset, std::span<const std::byte> payload) noexcept {
  if (op.kind != op_kind::get_scatter) {
    std::byte* to = local(op.local, op.local_offset);
    if (to && offset <= op.bytes && payload.size() <= op.bytes - offset) copy_bytes(to + offset, payload.data(), payload.size());
    return;
  }
  for (unsigned i = 0; i < op.slices && !payload.empty(); ++i) {
    const slice& s = op.scatter[i];
    if (offset >= s.bytes) {
      offset -= s.bytes;
      continue;
    }
    const std::size_t n = std::min<std::size_t>(payload.size(), s.bytes - offset);
    if (std::byte* to = local(s.local, s.local_offset)) copy_bytes(to + offset, payload.data(), n);
    payload = payload.subspan(n);
    offset = 0;
  }
}

void region_table::drop(region_id id, bool in_use) noexcept {
  region* r = find(id);
  if (!r) return;
  region gone = std::exchange(*r, {});
  gone.rests = at_rest_;
  --count_;
  try {
    if (in_use && gone.allocated()) dropped_.push_back(std::move(gone)), gone = {};
  } catch (...) {  // not even room for one entry: let them fault no more than they must
  }
  release(gone);
}

void region_table::release_dropped() noexcept {
  for (region& r : dropped_) release(r);
  dropped_.clear();
}

// A library that was in the middle of a peer's operation goes on with it, however long the peer takes to send the rest: so
// the addresses of such memory are nobody else's until the transport ends. Nor is its key taken back, for libraries end the
// connection of a peer that comes too late, or leave it without an answer. Its pages are given back.
void region_table::release(region& r) noexcept {
  if (r.registered && r.own.base && !r.rests && reach_->lingers()) {
    empty(r.own);
    try {
      lingering_.push_back({r.own, r.registered});
    } catch (...) {  // it stays for good
    }
    r.own = {};
  } else if (r.registered) {
    reach_->deregister_region(r.registered);
  }
  close_shared_memory(r.memory);
  unmap(r.own);
  r = {};
}

void region_table::close() noexcept {
  for (region& r : regions_)
    if (r.base) release(r);
  release_dropped();
  for (remains& r : lingering_) {
    reach_->deregister_region(r.registered);
    unmap(r.memory);
  }
  regions_.clear(), lingering_.clear();
  count_ = 0;
}

}  // namespace tutti::messages
