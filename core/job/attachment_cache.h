// Single regions of peers, attached once and kept while their keys stay the same: what a peer's registration_cache gives out, at
// the other end. A key is attached at its first acquire(); later ones find it by (peer, key). At most `entries` are kept; the one
// that was not used for the longest time goes first, and never one in use: where all are, one more is attached for that use alone.
//
// An entry whose region its owner has given back is harmless: operations upon it end with an error, and its key does not come again.
// Belongs to the transport's thread. A hit allocates nothing.
#pragma once
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/transport/transport.h"

namespace tutti {

class attachment_cache {
  struct entry;

 public:
  // Use of a segment, whose only member is the peer; from acquire() to release().
  class use {
   public:
    segment_id segment() const noexcept;
    explicit operator bool() const noexcept { return of_; }

   private:
    friend class attachment_cache;
    entry* of_ = nullptr;
  };

  explicit attachment_cache(transport& net, std::size_t entries = 1024) : net_{net}, most_{entries} {}
  attachment_cache(const attachment_cache&) = delete;
  attachment_cache& operator=(const attachment_cache&) = delete;
  ~attachment_cache();  // drops all segments, also those in use

  // The peer's region with this key, as transport::key() gave it there. Errors: those of transport::attach().
  result<use> acquire(rank_t peer, std::span<const std::byte> key);
  void release(use&) noexcept;  // nothing for one that is empty
  void drop_idle() noexcept;    // all that are not in use: what is mapped here takes memory, also where its owner has given it back

  std::size_t entries() const noexcept { return kept_.size(); }
  std::uint64_t hits() const noexcept { return hits_; }
  std::uint64_t misses() const noexcept { return misses_; }

 private:
  using place = std::list<entry>::iterator;
  struct entry {
    rank_t peer = no_rank;
    std::vector<std::byte> key;
    segment_id segment{};
    std::uint32_t uses = 0;
    std::uint64_t hash = 0;
    bool kept = false;
    place self;
  };

  bool make_room() noexcept;
  place drop(place) noexcept;
  void unlist(place) noexcept;

  transport& net_;
  const std::size_t most_;
  std::list<entry> kept_, unkept_;                       // kept_: the one used last in front
  std::unordered_multimap<std::uint64_t, place> found_;  // kept_, by hash
  std::uint64_t hits_ = 0, misses_ = 0;
};

}  // namespace tutti
