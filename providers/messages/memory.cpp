// Segments: what this rank knows of its peers' regions, and where they are mapped. Its own regions: regions.h.
#include <algorithm>

#include "providers/messages/transport.h"

namespace tutti::messages {
namespace {

// Longer than a living peer is kept from the cores where dozens of others want them; an end at all, since the peer may wait
// for this rank without driving its transport.
constexpr auto longest_keeping = std::chrono::seconds{10};

}  // namespace

result<segment_id> message_transport::attach(const rank_map& members, shared_blobs keys) {
  return segments_.attach(members, keys, size_, traits_.name, true, [](member& m, std::span<const std::byte> key) {
    const auto parts = read_key(key);
    if (parts) m.region = parts->head.region, m.bytes = parts->head.bytes, m.absent = false;
    return parts.has_value();
  });
}

void message_transport::drop(segment_id id) noexcept {
  segments_.drop(id, [this](rank_t r, member& m) { release(m, r); });
}

void message_transport::drop(region_id id) noexcept {
  const region* r = regions_.find(id);
  if (!r) return;
  end_puts_from(id, !r->allocated());
  segments_.each_of(rank_, [&](member& m) {  // this rank's own part of segments is mapped at once
    if (m.region == static_cast<std::uint32_t>(id)) m = {};
  });
  regions_.drop(id, frames_.busy() != 0);
}

// What was not sent yet would be read from memory that is gone. Each piece is a message of its own and the signal goes
// with the last, so the rest can be left out. A piece that the link keeps goes on being read by its library, as what goes by
// key is read and written. Memory of this transport's own is kept for that (regions.h). The caller's is gone for good
// once drop() returns, and UCX takes that for the end of the connection at best: so drop() waits.
void message_transport::end_puts_from(region_id id, bool callers) noexcept {
  own_time longest{longest_keeping, now()};
  const auto goes_on = [&] { return callers && !longest.over(now()); };
  for (frame& f : frames_.all()) {
    const auto reads = [&] { return f.to && f.op.local == id && f.left && f.source && f.source != f.small; };
    const auto kept = [&] { return f.to->kept && f.to->queue.front() == &f; };
    while (reads() && kept() && goes_on()) progress();
    if (!reads() || kept()) continue;
    f.to->queue.remove(f);
    finish(f, {errc::invalid, "the memory of a put to rank " + std::to_string(f.to->rank) + " was dropped", f.to->rank});
  }
  const auto names = [&](const rma_op& op) {
    if (op.kind != op_kind::get_scatter) return op.local == id;
    return std::any_of(op.scatter, op.scatter + op.slices, [&](const slice& s) { return s.local == id; });
  };
  for (const frame& f : frames_.all())
    while (f.to && f.parts && names(f.op) && goes_on()) progress();
}

void message_transport::release(member& m, rank_t rank) noexcept {
  unmap(m.foreign);
  if (m.key) {
    peers_[rank]->old_keys.push_back(m.key);  // reserved by resolve()
    forget_old_keys(*peers_[rank]);
  }
  m = {};
}

std::byte* message_transport::map(segment_id id, rank_t rank) noexcept { return view(id, rank).mapped; }

member& message_transport::view(segment_id id, rank_t rank) noexcept {
  member* m = segments_.find(id, rank);
  if (!m) return nobody_;
  if (!m->resolved && !m->absent) resolve(*m, id, rank);
  return *m;
}

void message_transport::resolve(member& m, segment_id segment, rank_t rank) noexcept {
  m.resolved = true;
  if (rank == rank_) {
    m.mapped = regions_.range(m.region, 0, m.bytes);
    m.absent = !m.mapped;
    return;
  }
  const auto there = *read_key(segments_.key_of(segment, rank));
  const key_head& head = there.head;
  peer* p = peer_of(rank);
  if (!p) return;
  open_endpoint(*p);
  // Who could store there could not wake it without its doze word, so both or none.
  if (p->doze && head.memory.bytes) {
    m.foreign = map_shared_memory(head.memory);
    m.mapped = m.foreign.base;
  } else if (reach_ && head.key_bytes && (alone_ ? p->doze_key != nullptr : p->line != nullptr)) {
    try {
      p->old_keys.reserve(++p->keys);
      m.key = reach_->unlock(*p, there.link);
    } catch (...) {  // by message, then
    }
  }
}

}  // namespace tutti::messages
