#include "bsp/peer_memory.h"

#include <memory>
#include <string>

namespace tutti::bsp {

result<segment_id> attach_one(const context& c, std::uint32_t pid, std::span<const std::byte> key) {
  auto keys = std::make_shared<blob_table>();
  keys->push_back(key);
  return c.net.attach(rank_map::strided(c.rank_of(pid), 1), std::move(keys));
}

peer_memory::peer_memory(const context& c, const arena& mine) : c_(c), mine_(mine), peers_(c.size) {
  for (std::uint32_t i = 0; i < c.size; ++i) {
    if (i == c.me) peers_[i].window = c.base;
    else if (c.how.in_place) peers_[i].window = c.net.map(c.window->segment(), c.rank_of(i));
    peers_[i].readable.assign(1, c.window->segment());
  }
}

peer_memory::~peer_memory() {
  for (const peer& p : peers_)
    for (const segment_id s : p.segments) c_.net.drop(s);
}

const chunk_head* peer_memory::meet(std::uint32_t pid, location l, status& why) {
  if (pid == c_.me) return reinterpret_cast<const chunk_head*>(mine_.at(l));
  peer& p = peers_[pid];
  const std::uint32_t region = region_of(l);
  const std::byte* const entry = p.window + c_.layout.directory(region);
  std::uint32_t length;
  std::memcpy(&length, entry, sizeof length);
  auto segment = attach_one(c_, pid, {entry + sizeof length, length});
  if (!segment) {
    why = segment.error();
    return nullptr;
  }
  p.segments.push_back(*segment);
  const std::byte* const base = c_.net.map(*segment, c_.rank_of(pid));
  if (!base) {
    why = {errc::fabric, worded("memory of rank ", c_.rank_of(pid), " cannot be mapped any more"), c_.rank_of(pid)};
    return nullptr;
  }
  if (p.regions.size() <= region) p.regions.resize(region + 1);
  p.regions[region] = base;
  return reinterpret_cast<const chunk_head*>(base + offset_of(l));
}

status peer_memory::add_key(std::uint32_t pid, std::uint32_t region, std::span<const std::byte> key) {
  peer& p = peers_[pid];
  auto segment = attach_one(c_, pid, key);
  if (!segment) return segment.error();
  p.segments.push_back(*segment);
  if (p.readable.size() <= region) p.readable.resize(region + 1);
  p.readable[region] = *segment;
  return {};
}

}  // namespace tutti::bsp
