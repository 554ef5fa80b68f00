// Memory of the router is memory of both children. A failure in the second undoes the first.
#include "core/base/blob_stream.h"
#include "core/router/impl.h"

namespace tutti {

result<region_id> router::also_on_network(region_id mine, result<region_id> theirs) {
  if (!theirs) {
    node_->drop(mine);
    return theirs.error();
  }
  regions_.set(mine, *theirs);
  return mine;
}

result<region_id> router::add(std::span<std::byte> memory) {
  regions_.reserve_one();
  const auto mine = node_->add(memory);
  if (!mine) return mine.error();
  return also_on_network(*mine, network_->add(memory));
}

result<region_id> router::add_unowned(std::span<std::byte> memory) {
  regions_.reserve_one();
  const auto mine = node_->add_unowned(memory);
  if (!mine) return mine.error();
  return also_on_network(*mine, network_->add_unowned(memory));
}

// From the node transport: shared memory must be made by it to be mapped, and a network registers any memory.
result<region_id> router::allocate(std::size_t bytes, std::span<std::byte>& memory) {
  regions_.reserve_one();
  std::span<std::byte> given;
  const auto mine = node_->allocate(bytes, given);
  if (!mine) return mine.error();
  const auto both = also_on_network(*mine, network_->add(given));
  if (both) memory = given;
  return both;
}

result<std::vector<std::byte>> router::key(region_id id) {
  const auto near = node_->key(id);
  if (!near) return near.error();
  const auto far = network_->key(regions_[id]);
  if (!far) return far.error();
  return joined({*near, *far});
}

// Each child gets the keys of the ranks that it serves, and no key ("exposes none") of the others: shared memory of
// another node does not exist here, and unpacking network keys that nothing will use costs time and memory. The network
// serves all where atomics go by it.
result<segment_id> router::attach(const rank_map& members, shared_blobs keys) {
  auto near = std::make_shared<blob_table>();
  auto far = std::make_shared<blob_table>();
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const auto key = (*keys)[i];
    const auto both = key.empty() ? std::make_shared<blob_table>() : blobs_in(key, 2);
    if (!both)
      return status{errc::protocol, worded("the key of rank ", members[i], " is not that of a shared memory "
                    "and network transport"), members[i]};
    const bool is_near = on_node(members[i]), exposes = both->size() > 0;
    near->push_back(exposes && is_near ? (*both)[0] : std::span<const std::byte>{});
    far->push_back(exposes && (!is_near || paths_.in_use()) ? (*both)[1] : std::span<const std::byte>{});
  }
  segments_.reserve_one();
  const auto mine = node_->attach(members, near);
  if (!mine) return mine.error();
  const auto theirs = network_->attach(members, far);
  if (!theirs) {
    node_->drop(*mine);
    return theirs.error();
  }
  segments_.set(*mine, *theirs);
  return *mine;
}

void router::drop(segment_id id) noexcept {
  if (segments_.contains(id)) network_->drop(segments_[id]);
  segments_.erase(id);
  node_->drop(id);
}

// The network first: the node's drop may free the memory.
void router::drop(region_id id) noexcept {
  if (regions_.contains(id)) network_->drop(regions_[id]);
  regions_.erase(id);
  node_->drop(id);
}

std::byte* router::map(segment_id id, rank_t rank) noexcept {
  return on_node(rank) ? node_->map(id, rank) : network_->map(segments_[id], rank);
}

}  // namespace tutti
