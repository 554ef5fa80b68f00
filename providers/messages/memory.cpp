// Regions of mine, segments of everyone's, and where they are mapped.
#include <algorithm>
#include <cerrno>
#include <new>

#include "core/base/dev_shm.h"
#include "core/base/random.h"
#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

// A region's id is drawn at random, since it goes to peers: nobody can guess another one, and a message about a dropped region
// does not name its successor. Its low bits are its place in the table, so that it is found by one look; who meets an
// occupied place draws again, once on average, as the table is at most half full. When that doubles, each id's place has one
// more bit of it, and no two ids that had places of their own get one in common.
constexpr std::size_t fewest_places = 16;

// A segment's id never leaves this rank. It is a slot and how often the slot was used.
constexpr unsigned slot_bits = 20;
constexpr std::uint32_t max_slots = (1u << slot_bits) - 1;
constexpr std::uint32_t make_id(std::size_t slot, std::uint32_t life) noexcept {
  return life << slot_bits | static_cast<std::uint32_t>(slot);
}
// Longer than a living peer is kept from the cores where dozens of others want them; an end at all, since the peer may wait
// for this rank without driving its transport.
constexpr auto longest_keeping = std::chrono::seconds{10};

constexpr std::uint32_t slot_of(std::uint32_t id) noexcept { return id & max_slots; }

template <class T, class Free>
std::size_t free_slot(std::vector<T>& table, const Free& is_free) {
  std::size_t i = 0;
  while (i < table.size() && !is_free(table[i])) ++i;
  if (i == table.size()) table.emplace_back();
  return i;
}

}  // namespace

// False: there are too many.
bool message_transport::make_room_for_regions() {
  if (2 * (regions_made_ + 1) <= regions_.size()) return true;
  if (regions_.size() > max_slots) return false;
  std::vector<region> larger(std::max(fewest_places, 2 * regions_.size()));
  for (region& r : regions_)
    if (r.base) std::swap(larger[r.id & (larger.size() - 1)], r);
  regions_.swap(larger);
  return true;
}

result<region_id> message_transport::enter(region r) noexcept {
  try {
    if (!make_room_for_regions()) return status{errc::no_resource, "too many regions"};
  } catch (const std::bad_alloc&) {
    return status{errc::no_resource, "no memory for a region"};
  }
  constexpr auto no_id = static_cast<std::uint32_t>(plain_memory);
  region* at = nullptr;
  do {
    if (!draw(r.id)) return status{errc::no_resource, "the kernel gives no random id for a region", no_rank, errno};
    at = &regions_[r.id & (regions_.size() - 1)];
  } while (at->base || r.id == 0 || r.id == no_id);
  *at = std::move(r);
  ++regions_made_;
  return region_id{at->id};
}

result<region_id> message_transport::add(std::span<std::byte> memory) {
  if (memory.empty()) return status{errc::invalid, "a region of 0 bytes cannot be added"};
  region r;
  r.base = memory.data(), r.bytes = memory.size();
  // Where this rank's program drives what peers do by key, a library that has begun with that goes on, through calls that come
  // after drop(). The caller's memory is gone by then: so it has no key, and only messages touch it.
  if (alone_)
    if (status s = expose(r); s.failed()) return s;
  auto entered = enter(r);
  if (!entered) bury_memory(r);
  return entered;
}

status message_transport::expose(region& r) noexcept {
  if (!reach_) return {};
  try {
    auto exposed = reach_->expose({r.base, r.bytes}, r.key);
    if (!exposed) return exposed.error();
    r.exposed = *exposed;
    return {};
  } catch (const std::bad_alloc&) {
    return {errc::no_resource, "no memory for a region's key"};
  }
}

result<region_id> message_transport::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  if (bytes == 0) return status{errc::invalid, "a region of 0 bytes cannot be allocated"};
  region r;
  r.bytes = bytes;
  const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
  if (rounded < bytes) return status{errc::invalid, "a region of " + std::to_string(bytes) + " bytes cannot exist"};
  if (traits_.shared_memory) {
    r.memory = create_shared_memory(rounded);
    r.base = r.memory.here.base;
    // Without a word the memory would be private, and everything upon it go by message.
    if (r.memory.full) return dev_shm_too_small("a window or a team's memory of this rank", rounded, room_in_dev_shm());
  }
  if (!r.base) {
    r.own = private_memory(rounded);
    r.base = r.own.base;
    if (!r.base) return status{errc::no_resource, "no memory for " + std::to_string(bytes) + " bytes"};
  }
  if (status s = expose(r); s.failed()) {
    bury_memory(r);
    return s;
  }
  auto entered = enter(r);
  if (entered) memory = {r.base, bytes};
  else bury_memory(r);
  return entered;
}

result<std::vector<std::byte>> message_transport::key(region_id id) {
  const region* r = region_at(static_cast<std::uint32_t>(id));
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

result<segment_id> message_transport::attach(const rank_map& members, shared_blobs keys) {
  if (!keys || keys->size() != members.size())
    return status{errc::invalid, "attach() needs one key for each of " + std::to_string(members.size()) + " members"};
  std::vector<member> views(members.size());
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    if (members[i] >= size_) return status{errc::invalid, "rank " + std::to_string(members[i]) + " is not in this job"};
    if ((*keys)[i].empty()) continue;
    const auto parts = read_key((*keys)[i]);
    if (!parts)
      return status{errc::protocol, "the key of rank " + std::to_string(members[i]) + " is not one of " + traits_.name + "'s",
                    members[i]};
    views[i].region = parts->head.region, views[i].bytes = parts->head.bytes, views[i].absent = false;
  }
  const std::size_t slot = free_slot(segments_, [](const segment& s) { return !s.keys; });
  if (slot >= max_slots) return status{errc::no_resource, "too many segments"};
  segment& s = segments_[slot];
  s.members = members, s.keys = std::move(keys), s.views = std::move(views);
  return segment_id{make_id(slot, ++s.life)};
}

void message_transport::drop(segment_id id) noexcept {
  const std::uint32_t slot = slot_of(static_cast<std::uint32_t>(id));
  if (slot >= segments_.size() || make_id(slot, segments_[slot].life) != static_cast<std::uint32_t>(id)) return;
  segment& gone = segments_[slot];
  for (std::uint32_t i = 0; i < gone.views.size(); ++i) release(gone.views[i], gone.members[i]);
  const std::uint32_t life = segments_[slot].life;
  segments_[slot] = {};
  segments_[slot].life = life;
}

void message_transport::drop(region_id id) noexcept {
  region* r = region_at(static_cast<std::uint32_t>(id));
  if (!r) return;
  end_puts_from(id, !r->memory.here.base && !r->own.base);
  for (segment& s : segments_) {  // this rank's own part of segments is mapped at once
    const std::uint32_t mine = s.keys ? s.members.index_of(rank_) : 0;
    if (mine < s.views.size() && s.views[mine].region == static_cast<std::uint32_t>(id)) s.views[mine] = {};
  }
  region gone = std::move(*r);
  *r = {};
  --regions_made_;
  // What is under way may still read it or write to it.
  try {
    if (busy_ && (gone.memory.here.base || gone.own.base)) graveyard_.push_back(std::move(gone)), gone = {};
  } catch (...) {  // not even room for one entry: let them fault no more than they must
  }
  bury_memory(gone);
}

// What was not sent yet would be read from memory that is gone. Each piece is a message of its own and the signal goes
// with the last, so the rest can be left out. A piece that the link keeps goes on being read by its library, as what goes by
// key is read and written. Memory of this transport's own waits for that in the graveyard. The caller's is gone for good
// once drop() returns, and UCX takes that for the end of the connection at best: so drop() waits.
void message_transport::end_puts_from(region_id id, bool callers) noexcept {
  own_time longest{longest_keeping, now()};
  const auto goes_on = [&] { return callers && !longest.over(now()); };
  for (std::uint32_t i = 0; i < pool_frames; ++i) {
    frame& f = frames_[i];
    const auto reads = [&] { return f.to && f.op.local == id && f.left && f.source && f.source != f.small; };
    while (reads() && f.to->kept && f.to->head == &f && goes_on()) progress();
    if (!reads() || (f.to->kept && f.to->head == &f)) continue;
    leave_queue(f);
    finish(f, {errc::invalid, "the memory of a put to rank " + std::to_string(f.to->rank) + " was dropped", f.to->rank});
  }
  const auto names = [&](const rma_op& op) {
    if (op.kind != op_kind::get_scatter) return op.local == id;
    return std::any_of(op.scatter, op.scatter + op.slices, [&](const slice& s) { return s.local == id; });
  };
  for (std::uint32_t i = 0; i < pool_frames; ++i)
    while (frames_[i].to && frames_[i].parts && names(frames_[i].op) && goes_on()) progress();
}

// A library that was in the middle of a peer's operation goes on with it, however long the peer takes to send the rest: so
// the addresses of such memory are nobody else's until the transport ends. Nor is its key taken back, for libraries end the
// connection of a peer that comes too late, or leave it without an answer. Its pages are given back.
void message_transport::bury_memory(region& r) noexcept {
  if (r.exposed && r.own.base && reach_->lingers()) linger({std::exchange(r.own, {}), r.exposed});
  else if (r.exposed) reach_->conceal(r.exposed);
  close_shared_memory(r.memory);
  unmap(r.own);
  r = {};
}

void message_transport::linger(const remains& r) noexcept {
  empty(r.memory);
  try {
    lingering_.push_back(r);
  } catch (...) {  // it stays for good
  }
}

void message_transport::release(member& m, rank_t rank) noexcept {
  unmap(m.foreign);
  if (m.key) {
    peers_[rank]->old_keys.push_back(m.key);  // reserved by resolve()
    forget_old_keys(*peers_[rank]);
  }
  m = {};
}

std::byte* message_transport::map(segment_id id, rank_t rank) noexcept { return view(id, rank).mapped; }

region* message_transport::region_at(std::uint32_t id) noexcept {
  if (regions_.empty()) return nullptr;
  region& r = regions_[id & (regions_.size() - 1)];
  return r.base && r.id == id ? &r : nullptr;
}

std::byte* message_transport::range(std::uint32_t id, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const region* r = region_at(id);
  return r && offset <= r->bytes && bytes <= r->bytes - offset ? r->base + offset : nullptr;
}

std::byte* message_transport::local_address(region_id id, std::uint64_t offset) noexcept {
  if (id == plain_memory) return reinterpret_cast<std::byte*>(offset);
  const region* r = region_at(static_cast<std::uint32_t>(id));
  return r ? r->base + offset : nullptr;
}

member& message_transport::view(segment_id id, rank_t rank) noexcept {
  const std::uint32_t slot = slot_of(static_cast<std::uint32_t>(id));
  if (slot >= segments_.size()) return nobody_;
  segment& s = segments_[slot];
  const std::uint32_t i = s.members.index_of(rank);
  if (i >= s.views.size()) return nobody_;
  member& m = s.views[i];
  if (!m.resolved && !m.absent) resolve(m, s, rank);
  return m;
}

void message_transport::resolve(member& m, segment& s, rank_t rank) noexcept {
  m.resolved = true;
  if (rank == rank_) {
    m.mapped = range(m.region, 0, m.bytes);
    m.absent = !m.mapped;
    return;
  }
  const auto there = *read_key((*s.keys)[s.members.index_of(rank)]);
  const key_head& head = there.head;
  peer* p = peer_of(rank);
  if (!p) return;
  open_endpoint(*p);
  // Who could store there could not wake it without its doze word, so both or none.
  if (p->doze && head.memory.bytes) {
    m.foreign = map_shared_memory(head.memory);
    m.mapped = m.foreign.base;
  } else if (reach_ && head.key_bytes && (alone_ ? p->doze_key != nullptr : p->line != nullptr)) {
    try {
      p->old_keys.reserve(++p->keys);
      m.key = reach_->unlock(*p, there.link);
    } catch (...) {  // by message, then
    }
  }
}

}  // namespace tutti::messages
