// A table in memory that the ranks of a node map, in which a rank leaves short byte strings for the others to find by name. The
// name is written last, by a release store, and looked for by acquire loads: a rank that sees the name sees the string. An entry
// is used again only after its owner forgot it, which the owner does when nobody looks for the entry any more. A rank that reads
// at that moment looks at the name once more, and goes on looking.
#pragma once
#include <functional>
#include <vector>

#include "core/transport/transport.h"

namespace tutti {

class node_lobby {
 public:
  static constexpr std::uint32_t entries = 64;
  static constexpr std::uint32_t longest = 240;  // bytes of a string

  explicit node_lobby(transport& node) : node_(node) {}
  ~node_lobby();

  // Set-up: this rank's key, and the keys of all ranks of this node, this one included. Errors: the transport's own;
  // unsupported (it does not map memory).
  result<std::vector<std::byte>> address();
  status connect(const std::vector<rank_t>& mates, shared_blobs keys);

  // `name` is not 0.
  status post(std::uint64_t name, std::span<const std::byte> text);
  // Posts why there is nothing to find; the text is cut to what fits.
  status post(std::uint64_t name, const status& why);
  void forget(std::uint64_t name) noexcept;
  // The other ranks check out under a name; its owner counts them.
  void check_out(rank_t owner, std::uint64_t name) noexcept;
  std::uint32_t checked_out(std::uint64_t name) const noexcept;
  // Waits for the string of that name, and calls `drive` meanwhile. Errors: timed_out; peer_dead (the owner); the posted one.
  result<std::vector<std::byte>> find(rank_t owner, std::uint64_t name, time_point deadline,
                                      const std::function<unsigned()>& drive);

 private:
  struct entry;
  status post(std::uint64_t name, errc, rank_t peer, std::span<const std::byte> text);
  entry* table_of(rank_t owner) noexcept;
  static entry* named(entry* table, std::uint64_t name) noexcept;
  transport& node_;
  std::span<std::byte> mine_;
  region_id region_{};
  segment_id segment_{};
  bool has_region_ = false, has_segment_ = false;
};

}  // namespace tutti
