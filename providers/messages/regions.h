// This rank's regions: memory that peers may name, by messages, by mapping it, or by the link's keys.
//
// A region's id is drawn at random, since it goes to peers: nobody can guess another one, and a message about a dropped region
// does not name its successor. Its low bits are its place in the table, so that it is found by one look; who meets an
// occupied place draws again, once on average, as the table is at most half full. When that doubles, each id's place has one
// more bit of it, and no two ids that had places of their own get one in common.
//
// What was under way when a region was dropped may still read it or write to it. Memory from allocate() is kept for that:
// until release_dropped(), and, where the link's library lingers (one_sided.h), until close(): the addresses alone, without their
// pages. What all members of a team have agreed to be at rest (team::settle()) goes at once, so that a program which makes and frees
// windows and teams keeps nothing of them.
//
// Why that is safe. Who can name a region has its key, and is a member of the team that exchanged it. settle() returns in one member
// once every member has completed all that it had begun (its flush) and begins no more. A put is complete when a mark that followed
// it was answered, or by a delivery completion or a read behind it: so this rank's library has stored all of it, and is not in the
// middle of it any more. A get is complete when its bytes are at the origin, so they were read here. Likewise this rank's own
// operations that read or fill the region. An operation that its origin gave up for a lost connection is none of these: after such
// a loss all linger again (message_transport::at_rest()).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/transport/transport.h"
#include "providers/messages/one_sided.h"
#include "providers/messages/shared_memory.h"

namespace tutti::messages {

struct region {
  std::byte* base = nullptr;   // null: no region is here
  std::uint64_t bytes = 0;
  shared_memory memory;        // allocate(), where peers can map
  mapping own;                 // allocate(), elsewhere
  void* registered = nullptr;     // the link's, where memory can be reached by keys
  std::vector<std::byte> key;
  std::uint32_t id = 0;
  bool rests = false;          // dropped when no operation of anyone's named it

  bool allocated() const noexcept { return memory.here.base || own.base; }
};

class region_table {
 public:
  region_table() = default;
  region_table(const region_table&) = delete;
  region_table& operator=(const region_table&) = delete;
  ~region_table() { close(); }

  // `reach`: how peers reach memory by keys, or null. `mappable`: peers on this host may map what is allocated.
  void open(one_sided* reach, bool mappable) noexcept { reach_ = reach, mappable_ = mappable; }
  // Gives all memory back. Nothing of the link's touches it any more.
  void close() noexcept;

  // `by_address`: the link may use it for operations upon unregistered memory that lies in it.
  result<region_id> add(std::span<std::byte> memory, bool by_address = true) noexcept;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) noexcept;
  result<std::vector<std::byte>> key(region_id) const;
  void drop(region_id, bool in_use) noexcept;
  void at_rest(bool on) noexcept { at_rest_ = on; }  // nothing of anyone's names the regions that are dropped
  void release_dropped() noexcept;  // nothing is in use any more
  bool holds_dropped() const noexcept { return !dropped_.empty(); }

  region* find(region_id id) noexcept {
    region* const r = regions_.empty() ? nullptr : &place(static_cast<std::uint32_t>(id));
    return r && r->base && r->id == static_cast<std::uint32_t>(id) ? r : nullptr;
  }
  const region* find(region_id id) const noexcept { return const_cast<region_table*>(this)->find(id); }
  // What a peer names; null: it is no region, or not all of it is inside.
  std::byte* range(std::uint32_t id, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const region* r = find(region_id{id});
    return r && offset <= r->bytes && bytes <= r->bytes - offset ? r->base + offset : nullptr;
  }
  // What an operation of this rank names; null: it was dropped.
  std::byte* local(region_id id, std::uint64_t offset) noexcept {
    if (id == unregistered_memory) return reinterpret_cast<std::byte*>(offset);
    const region* r = find(id);
    return r ? r->base + offset : nullptr;
  }
  // What a get or an atomic of this rank brings, from `offset` of it on.
  void land(const rma_op&, std::uint64_t offset, std::span<const std::byte> payload) noexcept;

 private:
  struct remains {  // of a dropped region whose library lingers
    mapping memory;
    void* registered;
  };
  region& place(std::uint32_t id) noexcept { return regions_[id & (regions_.size() - 1)]; }
  bool make_room();
  status register_region(region&) noexcept;
  result<region_id> enter(region) noexcept;
  void release(region&) noexcept;

  one_sided* reach_ = nullptr;
  bool mappable_ = false, at_rest_ = false;
  std::vector<region> regions_;  // by the low bits of their ids; as many as a power of two
  std::size_t count_ = 0;
  std::vector<region> dropped_;  // while something was in use
  std::vector<remains> lingering_;
};

}  // namespace tutti::messages
