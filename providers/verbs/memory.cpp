// Regions of mine and segments of everyone's.
//
// A region is registered for exactly as long as it is one: from add() or allocate() to drop(). The contract obliges the
// caller to keep the memory until drop(), so no registration can outlive its pages, and there is nothing that a cache
// of registrations would have to be told by a hook on munmap(). Memory that is no region has no registration that
// outlives an operation: see plain.cpp.
//
// drop() waits until the adapter has let go of the region: until operations of this rank that read or write it have
// ended. To take the registration away under them would put their queue pairs in error, and all else that is in flight
// there; to leave it would let an answer land in memory that is somebody else's by then. That wait is as long as those
// operations take, and at most a second: what has not ended by then is given up with its connection. What peers still
// do to the region fails there with `invalid`.
//
// Relaxed ordering. With `relaxed`, each region is registered twice: its payload key carries the mark of relaxed
// ordering, its word key does not. Signals and atomics use the word key.
#include <sys/mman.h>

#include <cerrno>

#include "core/base/own_time.h"
#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {
namespace {

using namespace std::chrono_literals;

constexpr int may_do = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
constexpr std::size_t page = 4096, large = std::size_t{4} << 20;

// An id is a slot and how often the slot was used: an operation upon a dropped region must not touch its successor.
constexpr unsigned slot_bits = 20;
constexpr std::uint32_t slot_mask = (1u << slot_bits) - 1;  // the last slot is never used, so that plain_memory is no id
constexpr std::uint32_t make_id(std::size_t slot, std::uint32_t life) noexcept {
  return life << slot_bits | static_cast<std::uint32_t>(slot);
}

template <class T, class Free>
std::size_t free_slot(std::vector<T>& table, const Free& is_free) {
  std::size_t i = 0;
  while (i < table.size() && !is_free(table[i])) ++i;
  if (i == table.size()) table.emplace_back();
  return i;
}

}  // namespace

status verbs_transport::expose(region& r) {
  const int payload = may_do | (relaxed_ ? IBV_ACCESS_RELAXED_ORDERING : 0);
  r.mr = ibv_reg_mr(pd_.get(), r.base, r.bytes, payload);
  if (r.mr) r.words = relaxed_ ? ibv_reg_mr(pd_.get(), r.base, r.bytes, may_do) : r.mr;
  if (r.words) return {};
  const int error = errno;
  unexpose(r);
  return os_error("registering " + std::to_string(r.bytes) + " bytes with " + device_.where.device, error);
}

void verbs_transport::unexpose(region& r) noexcept {
  if (r.words && r.words != r.mr) ibv_dereg_mr(r.words);
  if (r.mr) ibv_dereg_mr(r.mr);
  r.mr = r.words = nullptr;
  if (r.own) ::munmap(r.base, (r.bytes + page - 1) / page * page);
  r.own = false;
}

result<region_id> verbs_transport::enter(region r) {
  const std::size_t slot = free_slot(regions_, [](const region& old) { return !old.base; });
  if (slot >= slot_mask) {
    unexpose(r);
    return status{errc::no_resource, "too many regions"};
  }
  by_address_.reserve(regions_.size());
  if (status s = expose(r); s.failed()) return s;
  r.life = regions_[slot].life + 1;
  regions_[slot] = r;
  index(static_cast<std::uint32_t>(slot));
  return region_id{make_id(slot, r.life)};
}

result<region_id> verbs_transport::add(std::span<std::byte> memory) {
  if (memory.empty()) return status{errc::invalid, "a region of 0 bytes cannot be added"};
  region r;
  r.base = memory.data(), r.bytes = memory.size();
  return enter(r);
}

result<region_id> verbs_transport::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  const std::size_t rounded = (bytes + page - 1) / page * page;
  if (bytes == 0 || rounded < bytes)
    return status{errc::invalid, "a region of " + std::to_string(bytes) + " bytes cannot be allocated"};
  void* at = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return os_error("allocating " + std::to_string(bytes) + " bytes", errno);
  if (rounded >= large) ::madvise(at, rounded, MADV_HUGEPAGE);
  region r;
  r.base = static_cast<std::byte*>(at), r.bytes = bytes, r.own = true;
  auto entered = enter(r);
  if (entered) memory = {r.base, bytes};
  return entered;  // a failure has unmapped it
}

result<std::vector<std::byte>> verbs_transport::key(region_id id) {
  const region* r = region_at(id);
  if (!r) return status{errc::invalid, "key() of a region that does not exist"};
  key_blob k;
  k.address = reinterpret_cast<std::uint64_t>(r->base), k.bytes = r->bytes;
  k.rkey = r->mr->rkey, k.word_rkey = r->words->rkey, k.region = static_cast<std::uint32_t>(id);
  return as_blob(k);
}

result<segment_id> verbs_transport::attach(const rank_map& members, shared_blobs keys) {
  if (!keys || keys->size() != members.size())
    return status{errc::invalid, "attach() needs one key for each of " + std::to_string(members.size()) + " members"};
  auto targets = std::make_unique<target[]>(members.size() + 1);
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    if (members[i] >= size_) return status{errc::invalid, "rank " + std::to_string(members[i]) + " is not in this job"};
    if ((*keys)[i].empty()) continue;
    const auto k = blob_as<key_blob>((*keys)[i]);
    if (!k) return status{errc::protocol, "the key of rank " + std::to_string(members[i]) + " is not one of verbs'", members[i]};
    targets[i] = {k->address, k->bytes, k->rkey, k->word_rkey, k->region};
  }
  const std::size_t slot = free_slot(segments_, [](const segment& s) { return !s.targets; });
  if (slot >= slot_mask) return status{errc::no_resource, "too many segments"};
  segment& s = segments_[slot];
  s.members = members, s.targets = std::move(targets);
  return segment_id{make_id(slot, ++s.life)};
}

void verbs_transport::drop(segment_id id) noexcept {
  const std::uint32_t slot = static_cast<std::uint32_t>(id) & slot_mask;
  if (slot >= segments_.size() || make_id(slot, segments_[slot].life) != static_cast<std::uint32_t>(id)) return;
  segments_[slot].targets.reset();
  segments_[slot].members = {};
}

void verbs_transport::drop(region_id id) noexcept {
  region* r = region_at(id);
  if (!r) return;
  for (segment& s : segments_) {
    const std::uint32_t mine = s.targets ? s.members.index_of(rank_) : s.members.size();
    if (mine < s.members.size() && s.targets[mine].region == static_cast<std::uint32_t>(id)) s.targets[mine] = {};
  }
  unindex(static_cast<std::uint32_t>(r - regions_.data()));  // nothing new goes by it
  for (own_time longest{1s, now()}; r->uses && !longest.over(now());) progress();
  if (r->uses) {
    for (auto& p : peers_)
      if (p) end_backlog(*p, broken_connection(p->rank, "a region that the operation names was dropped"));
    for (peer* p : lines_) give_up(*p);
  }
  const std::uint32_t life = r->life;
  unexpose(*r);
  *r = {};
  r->life = life;
}

std::byte* verbs_transport::map(segment_id id, rank_t rank) noexcept {
  if (rank != rank_) return nullptr;
  const target* t = target_of(id, rank);
  return t ? reinterpret_cast<std::byte*>(t->address) : nullptr;
}

region* verbs_transport::region_at(region_id id) noexcept {
  const std::uint32_t slot = static_cast<std::uint32_t>(id) & slot_mask;
  if (slot >= regions_.size() || !regions_[slot].base || make_id(slot, regions_[slot].life) != static_cast<std::uint32_t>(id))
    return nullptr;
  return &regions_[slot];
}

region_id verbs_transport::id_of(const region& r) const noexcept {
  return region_id{make_id(static_cast<std::size_t>(&r - regions_.data()), r.life)};
}

const target* verbs_transport::target_of(segment_id id, rank_t rank) noexcept {
  const std::uint32_t slot = static_cast<std::uint32_t>(id) & slot_mask;
  if (slot >= segments_.size() || !segments_[slot].targets) return nullptr;
  const segment& s = segments_[slot];
  if (make_id(slot, s.life) != static_cast<std::uint32_t>(id)) return nullptr;
  const std::uint32_t i = s.members.index_of(rank);
  return i < s.members.size() && s.targets[i].bytes ? &s.targets[i] : nullptr;
}

}  // namespace tutti::verbs
