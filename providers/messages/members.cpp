#include "providers/messages/members.h"

#include "providers/messages/blobs.h"

namespace tutti::messages {

result<segment_id> member_table::attach(const rank_map& members, shared_blobs keys, std::uint32_t job_size, const char* provider) {
  return segments_.attach(members, keys, job_size, provider, true, [](member& m, std::span<const std::byte> key) {
    const auto parts = read_key(key);
    if (parts) m.region = parts->head.region, m.bytes = parts->head.bytes, m.absent = false;
    return parts.has_value();
  });
}

void member_table::drop(segment_id id) noexcept {
  segments_.drop(id, [this](rank_t, member& m) { release(m); });
}

void member_table::drop_all() noexcept {
  segments_.drop_all([this](rank_t, member& m) { release(m); });
}

void member_table::forget_region(region_id id) noexcept {
  segments_.each_of(self_, [&](member& m) {  // this rank's own part of segments is mapped at once
    if (m.region == static_cast<std::uint32_t>(id)) m = {};
  });
}

void member_table::release(member& m) noexcept {
  unmap(m.foreign);
  if (m.key) {
    m.unlocked_by->old_keys.push_back(m.key);  // reserved by resolve()
    forget_old_keys(*m.unlocked_by);
  }
  m = {};
}

void member_table::resolve(member& m, segment_id segment, peer& p) noexcept {
  m.resolved = true;
  if (p.rank == self_) {
    m.mapped = regions_.range(m.region, 0, m.bytes);
    m.absent = !m.mapped;
    return;
  }
  const auto there = *read_key(segments_.key_of(segment, p.rank));
  // Who could store there could not wake it without its doze word, so both or none.
  if (p.doze && there.head.memory.bytes) {
    m.foreign = map_shared_memory(there.head.memory);
    m.mapped = m.foreign.base;
  } else if (reach_ && there.head.key_bytes && (reach_->alone() ? p.doze_key != nullptr : p.line != nullptr)) {
    try {
      p.old_keys.reserve(++p.keys);
      m.key = reach_->unlock(p, there.link), m.unlocked_by = &p;
    } catch (...) {  // by message, then
    }
  }
}

void member_table::forget_old_keys(peer& p) noexcept {
  if (p.under_way || p.held) return;
  for (void* key : p.old_keys) reach_->forget(key);
  p.keys -= static_cast<std::uint32_t>(p.old_keys.size());
  p.old_keys.clear();
}

void member_table::forget_keys(peer& p) noexcept {
  if (!p.keys && !p.doze_key) return;
  segments_.each_of(p.rank, [&](member& m) {
    if (m.key) p.old_keys.push_back(std::exchange(m.key, nullptr));
  });
  for (void* key : p.old_keys) reach_->forget(key);
  p.old_keys.clear();
  p.keys = 0;
  if (p.doze_key) reach_->forget(std::exchange(p.doze_key, nullptr));
}

}  // namespace tutti::messages
