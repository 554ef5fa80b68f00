// Registrations of the program's own memory, kept for the next time: for messages, collectives and one-sided operations on memory
// that nobody has made a window.
//
// What is kept are disjoint intervals of addresses, each a region of the transport with its key. A request inside one of them gets
// that one. A request that reaches out of those that it overlaps takes their place, as one interval over all of it and all of them
// (or over itself alone, where all would be more than may be kept): so neighbours that are used together become one, and no two
// ever overlap. An interval that is in use stays registered until its last user has released it, though it is no longer found.
//
// Bounds. What is kept is at most `bytes` and `entries`; who was not used for the longest time goes first, and never one in use.
// What has no room among those in use is registered for this one use. A transport that has not enough (locked memory) is asked again
// after each idle registration that is given back.
//
// Stale entries. A program may unmap what it has sent from, and is never asked to say so.
// - Where caps().follows_mapping, a region is whatever lies at its addresses, so no entry can become stale: after an munmap() and
//   an mmap() at the same address the old entry reaches the new memory. Between the two nobody uses it: a user holds it only as
//   long as its operation, for which the memory must be there, and tells no peer of it otherwise.
// - Elsewhere an adapter keeps pages. Then nothing is kept unless core/base/unmap_watch.h can tell what was unmapped: each interval
//   is watched before it is registered, and each acquire() asks before it looks. Where that cannot be had, each use registers anew,
//   and describe_registrations() says why. So the argument of providers/verbs/bounce_buffers.h against a cache, that somebody must
//   tell it of every munmap(), holds there and nowhere else.
//   An entry may be stale from the munmap() to the next acquire(). Nothing goes by it meanwhile: its users have released it, and
//   by its address no operation upon unregistered memory finds it (transport::add_unowned()).
//
// After fork() the child may not use it, nor the transport: acquire() says so. In the parent all stays as it was.
//
// A peer that keeps the key of an interval which was given back gets an error from its operations, and no data: region ids are never
// used twice within sight. Belongs to the transport's thread. A hit allocates nothing.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/fork_mark.h"
#include "core/base/unmap_watch.h"
#include "core/transport/transport.h"

namespace tutti {

enum class registrations_kept : std::uint8_t { automatic, off, interpose };  // TUTTI_REGISTRATION_CACHE

struct registration_bounds {
  std::size_t bytes = std::size_t{1} << 30, entries = 1024;
};

class registration_cache {
  struct entry;

 public:
  // Use of a registration, from acquire() to release().
  class use {
   public:
    region_id region() const noexcept;
    std::uint64_t offset() const noexcept { return offset_; }  // of the memory's first byte in the region, here and for peers
    std::span<const std::byte> key() const noexcept;           // of the region; until release()
    explicit operator bool() const noexcept { return of_; }

   private:
    friend class registration_cache;
    entry* of_ = nullptr;
    std::uint64_t offset_ = 0;
  };
  struct counts {
    std::uint64_t hits = 0, misses = 0, evicted = 0, stale = 0;
  };

  registration_cache(transport&, registrations_kept, registration_bounds);
  registration_cache(const registration_cache&) = delete;
  registration_cache& operator=(const registration_cache&) = delete;
  ~registration_cache();  // drops all regions, also those in use

  // A region around this memory, which the caller keeps mapped until release(). At least one byte. Errors: those of
  // transport::add_unowned() and key(); invalid in a forked child. A hit costs tens of nanoseconds, and where registrations are watched a
  // system call; a miss costs a registration.
  result<use> acquire(std::span<std::byte> memory);
  // Of the memory's first bytes, as many as acquire() would find registered, in one piece. Costs as much as a hit.
  std::size_t known(std::span<const std::byte> memory) noexcept;
  void release(use&) noexcept;  // nothing for one that is empty
  // The same; and peers that still have the key get errors from now on, unless the region has another user.
  void revoke(use&) noexcept;

  const counts& counted() const noexcept { return counts_; }
  std::size_t bytes() const noexcept { return bytes_; }  // kept, those in use included
  std::size_t entries() const noexcept { return by_address_.size(); }
  bool keeps() const noexcept { return keeps_; }
  const std::string& why() const noexcept { return why_; }  // it keeps registrations, or keeps none: one line for people

 private:
  using range = unmap_watch::range;
  using place = std::list<entry>::iterator;
  struct entry {
    range where;
    region_id region{};
    std::vector<std::byte> key;
    std::uint32_t uses = 0;
    bool kept = false;  // found by its address; else it goes with its last use
    place self;
  };

  place find(std::uintptr_t address) noexcept;      // the first that ends beyond it, or kept_.end()
  void forget(range) noexcept;
  void forget(place) noexcept;
  void give_back(place) noexcept;
  bool evict_one() noexcept;
  bool make_room(std::size_t bytes) noexcept;
  void catch_up(range wanted) noexcept;
  range widened(range wanted) noexcept;
  result<place> register_memory(range);

  transport& net_;
  const registration_bounds bounds_;
  bool keeps_ = false;
  std::string why_;
  std::optional<unmap_watch::listener> watch_;      // where entries can become stale
  std::list<entry> kept_, unkept_;                  // kept_: the one used last in front
  std::map<std::uintptr_t, place> by_address_;      // by their begin: kept_, which are disjoint
  std::size_t bytes_ = 0;
  counts counts_;
  const fork_mark owner_;
};

// Whether such a transport's registrations are kept, and how it is known that they are not stale, or why not: one line for people.
std::string describe_registrations(const capabilities&, registrations_kept);

}  // namespace tutti
