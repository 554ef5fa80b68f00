#include "bsp/arena.h"

#include <algorithm>
#include <string>

namespace tutti::bsp {

arena::arena(transport& net, budget& memory, announcer announce)
    : net_(net), memory_(memory), announce_(std::move(announce)), regions_(1) {}

arena::~arena() {
  for (std::size_t i = 1; i < regions_.size(); ++i) net_.drop(regions_[i].id);
}

void arena::adopt(region_id id, std::span<std::byte> memory, std::uint64_t room, std::uint64_t room_bytes) {
  regions_[0] = {id, memory, {}};
  room_ = room, room_bytes_ = room_bytes;
}

result<location> arena::take(unsigned half, std::size_t bytes) {
  half_of& h = halves_[half];
  bytes = round_up(bytes, 64);
  if (bytes <= room_bytes_ - halves_[0].in_room - halves_[1].in_room) {
    const std::uint64_t from_end = room_bytes_ - h.in_room - bytes;
    const location l = make_location(0, room_ + (half == 0 ? h.in_room : from_end));
    h.in_room += bytes;
    return l;
  }
  for (; h.current < h.regions.size(); ++h.current, h.mark = 0) {
    const std::uint32_t number = h.regions[h.current];
    if (bytes > regions_[number].memory.size() - h.mark) continue;
    const location l = make_location(number, h.mark);
    h.mark += bytes;
    return l;
  }
  if (status s = grow(h, bytes); s.failed()) return s;
  h.mark = bytes;
  return make_location(h.regions.back(), 0);
}

// Each region is as large as all before it in its half, so their number stays small.
status arena::grow(half_of& h, std::size_t least) {
  std::size_t before = 0;
  for (const std::uint32_t number : h.regions) before += regions_[number].memory.size();
  const std::size_t needed = round_up(least, 4096);
  const std::size_t size = regions_.size() < most_regions ? memory_.take(std::max({first_region, before, needed}), needed) : 0;
  if (size == 0)
    return {errc::no_resource, worded("the puts, gets and messages of a superstep, ", least,
                                      " bytes more of them, do not fit into the ", memory_.remedy())};
  std::span<std::byte> memory;
  auto id = net_.allocate(size, memory);
  if (!id) {
    memory_.give(size);
    return id.error().during("buffers of a superstep");
  }
  auto key = net_.key(*id);
  const auto number = static_cast<std::uint32_t>(regions_.size());
  status s = key ? announce_(number, *key) : key.error();
  if (s.failed()) {
    net_.drop(*id);
    memory_.give(size);
    return s.during("buffers of a superstep");
  }
  regions_.push_back({*id, memory, std::move(*key)});
  h.regions.push_back(number);
  h.current = h.regions.size() - 1;
  return {};
}

void arena::reclaim(unsigned half) noexcept {
  halves_[half].current = 0;
  halves_[half].mark = 0;
  halves_[half].in_room = 0;
}

}  // namespace tutti::bsp
