// Regions, their keys, and segments.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "providers/sim/net.h"

namespace tutti::sim {

namespace {

constexpr std::size_t line = 64;

struct key_blob {  // what key() gives out
  std::uint64_t world;
  std::uint64_t bytes;
  rank_t rank;
  region_id region;
};

}  // namespace

const segment::entry* segment::find(rank_t r) const noexcept {
  if (entries.empty() || r < entries.front().rank) return nullptr;
  if (const std::uint64_t i = r - entries.front().rank; i < entries.size() && entries[i].rank == r) return &entries[i];
  const auto at = std::ranges::lower_bound(entries, r, {}, &entry::rank);
  return at != entries.end() && at->rank == r ? &*at : nullptr;
}

rank_transport::rank_transport(fabric& f, rank_t r) : f_(f), rank_(r), mcast_(*this), offload_(*this), two_sided_(*this) {
  rank_state& rs = me();
  rs.transport = this;
  rs.in_flight = rs.flushes = 0, rs.opened_at = f.next_seq;
  if (f.par.shared_adapters || f.par.connect_us > 0 || f.beside.reap) extra_ = std::make_unique<beyond_loggp>();
  idle_since_ = rs.clock;
}

// Operations still on their way take effect or fail by themselves; nothing of this rank is told any more.
rank_transport::~rank_transport() {
  rank_state& rs = me();
  while (extra_ && !extra_->leaves.empty()) depart_next();
  rs.transport = nullptr;
  rs.left = true;
  for (const auto index : inbox_) {
    f_.fail(index, f_.reachable(rank_, rs.clock), std::max(f_.now, rs.clock));
    f_.release(index);
  }
  f_.wake_others(rank_, rs.clock);
}

result<std::vector<std::byte>> rank_transport::address() {
  std::vector<std::byte> mine(sizeof f_.par.seed);
  std::memcpy(mine.data(), &f_.par.seed, mine.size());
  return mine;
}

status rank_transport::connect(shared_blobs addresses, time_point) {
  if (!addresses || addresses->size() != f_.par.ranks)
    return {errc::invalid, worded("connect takes one address for each of ", f_.par.ranks, " ranks")};
  return {};
}

std::byte* rank_transport::memory(region_id id, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const region* r = regions_.find(id);
  return r && offset <= r->bytes && bytes <= r->bytes - offset ? r->base + offset : nullptr;
}

std::byte* rank_transport::local_memory(region_id id, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return id == unregistered_memory ? reinterpret_cast<std::byte*>(offset) : memory(id, offset, bytes);
}

// A process that has ended is found out by whoever waits for it; what its memory was plays no part any more.
void rank_transport::read(const std::byte* from, void* to, std::size_t bytes) noexcept {
  if (!bytes || stands_still(bytes)) return;
  far_memory* const far = elsewhere();
  if (!far) std::memcpy(to, from, bytes);
  else if (!far->read(from, to, bytes)) std::memset(to, 0, bytes);
}
void rank_transport::write(const void* from, std::byte* to, std::size_t bytes) noexcept {
  if (!bytes || stands_still(bytes)) return;
  far_memory* const far = elsewhere();
  if (!far) std::memcpy(to, from, bytes);
  else (void)far->write(from, to, bytes);
}

result<region_id> rank_transport::put_region(region r) {
  if (!regions_.reserve_one()) return status(errc::no_resource, "too many regions: a rank of the simulator has a million");
  return regions_.insert(std::move(r));
}

result<region_id> rank_transport::add(std::span<std::byte> m) {
  if (m.empty()) return status(errc::invalid, "a region has at least one byte");
  return put_region({m.data(), m.size(), nullptr});
}

result<region_id> rank_transport::allocate(std::size_t bytes, std::span<std::byte>& out) {
  if (!bytes) return status(errc::invalid, "a region has at least one byte");
  if (bytes >= untouched::least && bytes <= untouched::most) {
    auto owner = f_.fresh.allocate(bytes);
    if (!owner) return status(errc::no_resource, "no memory for a region of " + std::to_string(bytes) + " bytes");
    out = {owner.get(), bytes};
    return put_region({owner.get(), bytes, std::move(owner)});
  }
  std::size_t space = bytes + line;
  void* base = space > bytes ? std::calloc(1, space) : nullptr;  // clears no fresh pages, and many are never touched
  const std::shared_ptr<void> owner(base, std::free);
  if (!base) return status(errc::no_resource, worded("no memory for a region of ", bytes, " bytes"));
  out = {static_cast<std::byte*>(std::align(line, bytes, base, space)), bytes};
  return put_region({out.data(), bytes, {owner, out.data()}});
}

result<std::vector<std::byte>> rank_transport::key(region_id id) {
  const region* r = regions_.find(id);
  if (!r) return status(errc::invalid, "no such region");
  const key_blob k{f_.par.seed, r->bytes, rank_, id};
  std::vector<std::byte> out(sizeof k);
  std::memcpy(out.data(), &k, sizeof k);
  return out;
}

result<segment_id> rank_transport::attach(const rank_map& members, shared_blobs keys) {
  std::shared_ptr<const segment> shared;
  if (const auto known = f_.segments.find(keys.get()); known != f_.segments.end()) shared = known->second.lock();
  if (shared && (members.size() != shared->keys->size() || (members.size() && (members[0] != shared->first || members[members.size() - 1] != shared->last)))) shared = nullptr;
  if (!shared) {
    if (status s = check_keys(members, keys, f_.par.ranks); s.failed()) return s;
    auto made = std::make_shared<segment>();
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const auto blob = (*keys)[i];
      if (blob.empty()) continue;
      key_blob k;
      if (blob.size() != sizeof k) return status(errc::protocol, "not a key of the simulator", members[i]);
      std::memcpy(&k, blob.data(), sizeof k);
      if (k.world != f_.par.seed || k.rank != members[i])
        return status(errc::protocol, worded("key ", i, " is not one of rank ", members[i]),
                      members[i]);
      made->entries.push_back({k.rank, k.region, k.bytes});
    }
    std::ranges::sort(made->entries, {}, &segment::entry::rank);
    made->keys = std::move(keys);
    if (members.size()) made->first = members[0], made->last = members[members.size() - 1];
    if (f_.segments.size() >= 64 && std::has_single_bit(f_.segments.size()))
      std::erase_if(f_.segments, [](const auto& s) { return s.second.expired(); });
    f_.segments[made->keys.get()] = made;
    shared = std::move(made);
  }
  if (!segments_.reserve_one()) return status(errc::no_resource, "too many segments: a rank of the simulator has a million");
  return segments_.insert(std::move(shared));
}

const segment* rank_transport::find(segment_id id) const noexcept {
  const auto* shared = segments_.find(id);
  return shared ? shared->get() : nullptr;
}

bool rank_transport::resolve(segment_id id, rank_t rank, std::uint64_t offset, std::uint64_t bytes,
                             region_id& out) const noexcept {
  const segment* s = find(id);
  const segment::entry* e = s ? s->find(rank) : nullptr;
  if (!e || offset > e->bytes || bytes > e->bytes - offset) return false;
  out = e->region;
  return true;
}

void rank_transport::drop(segment_id id) noexcept {
  std::erase_if(mapped_, [&](const auto& m) { return m.first.first == id; });
  segments_.erase(id);
}

void rank_transport::drop(region_id id) noexcept {
  regions_.erase(id);
}

std::byte* rank_transport::map(segment_id id, rank_t rank) noexcept {
  if (rank != rank_ && !(f_.par.maps_node && f_.same_node(rank, rank_))) return nullptr;
  if (const auto kept = mapped_.find({id, rank}); kept != mapped_.end()) return kept->second.get();
  const segment* s = find(id);
  const segment::entry* e = s ? s->find(rank) : nullptr;
  rank_transport* peer = f_.ranks[rank].transport;
  const region* there = e && peer ? peer->regions_.find(e->region) : nullptr;
  if (!there) return nullptr;
  if (rank == rank_ || !there->allocated) return there->base;
  try {
    return mapped_.emplace(std::pair{id, rank}, there->allocated).first->second.get();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace tutti::sim
