// What the placer hands on: data that stayed with their sender.
#include <algorithm>

#include "bsp/engine.h"

namespace tutti::bsp {

status engine::on_key(std::uint32_t from, std::uint32_t region, std::span<const std::byte> key) {
  peer& p = peers_[from];
  auto keys = std::make_shared<blob_table>();
  keys->push_back(key);
  auto segment = job_.net().attach(rank_map::strided(p.rank, 1), std::move(keys));
  if (!segment) return segment.error();
  p.segments.push_back(*segment);
  if (p.readable.size() <= region) p.readable.resize(region + 1);
  p.readable[region] = *segment;
  return {};
}

// Where the sender's memory is not mapped here an adapter brings the data, or a library, and it is from registered memory to
// registered memory that they do so best: the whole area is registered, once, until it is popped.
status engine::on_pull(std::uint32_t from, const pull_head& h, const area& to) {
  puller::pull pull{from, peers_[from].rank, peers_[from].readable[region_of(h.from)], offset_of(h.from), plain_memory,
                    reinterpret_cast<std::uintptr_t>(to.base) + h.offset, to.base + h.offset, h.bytes};
  if (!job_.net().map(pull.segment, pull.rank)) {
    auto known = std::find_if(registrations_.begin(), registrations_.end(),
                              [&](const registration& r) { return r.base == to.base && r.bytes == to.bytes; });
    if (known == registrations_.end()) {
      auto id = job_.net().add({to.base, to.bytes});
      if (!id) return id.error().during("registering an area of " + std::to_string(to.bytes) + " bytes");
      known = registrations_.insert(known, {areas_.number_of(to), to.base, to.bytes, *id});
    }
    pull.local = known->id;
    pull.local_offset = h.offset;
  }
  puller_.add(pull);
  return {};
}

// Of areas that are no more, and of other memory: it may go.
void engine::drop_registrations() noexcept {
  borrowed_ = 0;
  std::erase_if(registrations_, [&](const registration& r) {
    const area* const a = areas_.at(r.number);
    if (a && a->base == r.base && a->bytes == r.bytes) return false;
    job_.net().drop(r.id);
    return true;
  });
}

}  // namespace tutti::bsp
