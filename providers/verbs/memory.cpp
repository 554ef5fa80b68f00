// Segments, and how a region is dropped while operations name it.
//
// drop() waits until the adapter has let go of the region: until operations of this rank that read or write it have
// ended. To take the registration away under them would put their queue pairs in error, and all else that is in flight
// there; to leave it would let an answer land in memory that is somebody else's by then. That wait is as long as those
// operations take, and at most a second: what has not ended by then is given up with its connection. What peers still
// do to the region fails there with `invalid`.
#include "core/base/own_time.h"
#include "providers/verbs/error.h"
#include "providers/verbs/transport.h"

namespace tutti::verbs {

using namespace std::chrono_literals;

result<segment_id> verbs_transport::attach(const rank_map& members, shared_blobs keys) {
  return segments_.attach(members, keys, size_, "verbs", false, [](target& t, std::span<const std::byte> key) {
    const auto k = blob_as<key_blob>(key);
    if (k) t = {k->address, k->bytes, k->rkey, k->word_rkey, k->region};
    return k.has_value();
  });
}

void verbs_transport::drop(segment_id id) noexcept {
  segments_.drop(id, [](rank_t, target&) {});
}

void verbs_transport::drop(region_id id) noexcept {
  const region* r = regions_.find(id);
  if (!r) return;
  segments_.each_of(rank_, [&](target& mine) {
    if (mine.region == static_cast<std::uint32_t>(id)) mine = {};
  });
  regions_.hide(id);  // nothing new goes by it
  for (own_time longest{1s, now()}; r->uses && !longest.over(now());) progress();
  if (r->uses) {
    for (auto& p : peers_)
      if (p) end_backlog(*p, broken_connection(p->rank, "a region that the operation names was dropped"));
    for (peer* p : lines_) give_up(*p);
  }
  regions_.erase(id);
}

std::byte* verbs_transport::map(segment_id id, rank_t rank) noexcept {
  if (rank != rank_) return nullptr;
  const target* t = target_of(id, rank);
  return t ? reinterpret_cast<std::byte*>(t->address) : nullptr;
}

}  // namespace tutti::verbs
