#include "messaging/ways.h"

#include <algorithm>
#include <new>

#include "core/transport/ops.h"

namespace tutti::messaging {
namespace {

const lasting_memory::part* usable(const lasting_memory& all, const operation& o, std::uint64_t bytes, std::size_t longest_key) noexcept {
  const lasting_memory::part* const p = all.find(o.data, bytes);
  return p && (p->mapped || !o.with->tagged.mapped) && p->key.size() <= longest_key ? p : nullptr;
}

}  // namespace

bool in_lasting(tagged& t, const operation& o, std::uint64_t bytes) noexcept {
  return usable(t.lasting_, o, bytes, t.end_.limits().max_payload) != nullptr;
}

bool share_lasting(tagged& t, operation& o, std::uint64_t bytes) noexcept {
  const lasting_memory::part* const p = usable(t.lasting_, o, bytes, t.end_.limits().max_payload);
  if (!p) return false;
  o.key = p->key, o.offset = static_cast<std::uint64_t>(o.data - p->base), o.lasting = true;
  return true;
}

bool share(tagged& t, operation& o, std::uint64_t bytes) noexcept {
  if (t.design_.one_copy && share_lasting(t, o, bytes)) return true;
  try {
    registration_cache& kept = t.job_.registrations();
    auto use = kept.acquire({o.data, bytes});
    if (!use) return false;
    if (use->key().size() > t.end_.limits().max_payload) return kept.release(*use), false;
    o.registered = *use, o.lasting = kept.keeps();
    o.key = o.registered.key(), o.offset = o.registered.offset();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

parts* parts_of(operation& o) noexcept {
  if (o.parted) return o.by_parts.get();
  if (!o.by_parts) o.by_parts.reset(new (std::nothrow) parts);
  if (!o.by_parts) return nullptr;
  o.by_parts->clear();
  o.parted = true;
  return o.by_parts.get();
}

bool share_in_parts(tagged& t, operation& o, std::uint64_t bytes) noexcept {
  const pair_routes& routes = *o.with->tagged.routes;
  const bool packs = o.buffer != 0;
  bool registers = routes.registers(bytes) && !(t.design_.one_copy && in_lasting(t, o, bytes));
  std::uint64_t part = routes.part_of(bytes, registers, packs, packs ? o.where->layout().blocks() : 1);
  std::uint64_t first = 0;
  try {
    if (registers && part < bytes) first = registered_part(t.job_.registrations(), o.data, bytes, part);
    if (first == bytes) {
      registers = false, first = 0;
      part = packs ? routes.part_of(bytes, false, true, o.where->layout().blocks()) : bytes;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (first == 0) first = part_at(o.data, bytes, part);
  parts* const p = first < bytes ? parts_of(o) : nullptr;
  const std::uint64_t ready = p ? first : bytes;
  if (packs) o.where->read(0, {o.data, ready});
  if (!share(t, o, p && registers ? ready : bytes)) return false;
  if (p) p->piece = part, p->offered = ready, p->packed = packs ? ready : bytes, p->registers = registers;
  return true;
}

// --- the other end's memory ---------------------------------------------------------------------------------------

namespace {

// Its segment, which goes with the operation: kept in `reached`, or for this operation alone.
bool attach(job& j, rank_t rank, const far_memory& there, attachment_cache::use& reached, segment_id& segment) {
  if (there.lasting) {
    auto use = j.attachments().acquire(rank, there.key);
    if (!use) return false;
    reached = *use, segment = reached.segment();
    return true;
  }
  auto keys = std::make_shared<blob_table>();
  keys->push_back(there.key);
  auto made = j.net().attach(rank_map::strided(rank, 1), std::move(keys));
  if (!made) return false;
  segment = *made;
  return true;
}

}  // namespace

bool reach(tagged& t, operation& o, const far_memory& there) noexcept {
  o.far_offset = there.offset, o.upto = std::min(there.bytes, o.wanted);
  try {
    if (!attach(t.job_, o.with->rank, there, o.reached, o.segment)) return false;
    o.attached = !there.lasting;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool reach_more(tagged& t, operation& o, const far_memory& there) noexcept {
  parts* const p = parts_of(o);
  if (!p) return false;
  const std::uint64_t from = p->told.empty() ? o.upto : p->told.back().upto;
  try {
    p->told.reserve(p->told.size() + 1), p->reached.reserve(p->reached.size() + 1), p->attached.reserve(p->attached.size() + 1);
    attachment_cache::use reached;
    segment_id segment{};
    if (!attach(t.job_, o.with->rank, there, reached, segment)) return false;
    if (there.lasting) p->reached.push_back(reached);
    else p->attached.push_back(segment);
    p->told.push_back({std::min(from + there.bytes, o.wanted), segment, there.offset - from});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// --- transfers ----------------------------------------------------------------------------------------------------

// Names the memory here from `moved` on, and at most so many bytes; how many of them. Where registering costs, a part at a time is
// registered, just before it is handed over: while earlier ones move.
std::uint64_t name_memory(tagged& t, operation& o, std::uint64_t most) noexcept {
  if (o.moved < o.local_upto) return std::min(most, o.local_upto - o.moved);
  o.local = unregistered_memory, o.local_offset = reinterpret_cast<std::uintptr_t>(o.data), o.local_upto = o.wanted;
  const pair_routes& routes = *o.with->tagged.routes;
  if (!routes.registers(o.wanted) || t.lasting_.find(o.data, o.wanted)) return most;
  parts* const p = parts_of(o);
  if (!p) return most;
  try {
    registration_cache& kept = t.job_.registrations();
    std::byte* const at = o.data + o.moved;
    const std::uint64_t rest = o.wanted - o.moved;
    const std::uint64_t bytes = registered_part(kept, at, rest, routes.part_of(o.wanted, true, false));
    p->registered.reserve(p->registered.size() + 1);
    auto use = kept.acquire({at, bytes});
    if (!use) return most;
    p->registered.push_back(*use);
    o.local = use->region(), o.local_offset = use->offset() - o.moved, o.local_upto = o.moved + bytes;
  } catch (const std::bad_alloc&) {
  }
  return std::min(most, o.local_upto - o.moved);
}

namespace {

bool next_part(operation& o) noexcept {
  if (!o.parted || o.by_parts->next == o.by_parts->told.size()) return false;
  const parts::far& f = o.by_parts->told[o.by_parts->next++];
  o.segment = f.segment, o.far_offset = f.offset, o.upto = f.upto;
  return true;
}

// An operation for the pieces from `moved` on. No bytes: there is no room for its list yet.
rma_op list_pieces(operation& o, op_kind kind, std::uint64_t most, std::uint32_t most_slices) noexcept {
  parts& p = *o.by_parts;
  const auto place = [&](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) - p.region_base; };
  if (kind == op_kind::put) {
    const auto piece = o.where->piece(o.moved, most);
    return move_op(kind, p.region, place(piece.data()), o.with->rank, o.segment, o.far_offset + o.moved, static_cast<std::uint32_t>(piece.size()), &o.moving);
  }
  rma_op op = move_op(op_kind::get_scatter, unregistered_memory, 0, o.with->rank, o.segment, o.far_offset + o.moved, 0, &o.moving);
  if (p.used == parts::most_slices && o.moving.idle()) p.used = 0;
  op.scatter = p.slices.get() + p.used;
  while (p.used < parts::most_slices && op.slices < most_slices && op.bytes < most) {
    const auto piece = o.where->piece(o.moved + op.bytes, most - op.bytes);
    p.slices[p.used++] = {p.region, static_cast<std::uint32_t>(piece.size()), place(piece.data())};
    ++op.slices, op.bytes += static_cast<std::uint32_t>(piece.size());
  }
  return op;
}

bool move_list(transport& net, operation& o, op_kind kind, std::uint64_t most) noexcept {
  parts& p = *o.by_parts;
  if (!std::exchange(p.again, false)) p.refused = list_pieces(o, kind, most, std::min(net.caps().max_slices, 255u));
  if (p.refused.bytes == 0) return false;
  if (net.submit({&p.refused, 1}) == 0) {
    p.again = true;
    return false;
  }
  o.moved += p.refused.bytes;
  return true;
}

}  // namespace

bool prepare_lists(tagged& t, operation& o, op_kind kind) noexcept {
  const pair_routes& routes = *o.with->tagged.routes;
  parts* const p = parts_of(o);
  if (!p) return false;
  if (kind != op_kind::put) {
    if (!p->slices) p->slices.reset(new (std::nothrow) slice[parts::most_slices]);
    if (!p->slices) return false;
  }
  p->region = unregistered_memory, p->region_base = 0;
  if (routes.about().registering.any()) {
    // All around the pieces, and no more than twice as much as is moved.
    if (o.where->extent() / 2 > o.where->layout().bytes()) return false;
    try {
      p->registered.reserve(p->registered.size() + 1);
      auto use = t.job_.registrations().acquire({o.where->low(), o.where->extent()});
      if (!use) return false;
      p->registered.push_back(*use);
      p->region = use->region(), p->region_base = reinterpret_cast<std::uintptr_t>(o.where->low()) - use->offset();
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  return p->lists = true;
}

bool move(tagged& t, operation& o, op_kind kind) noexcept {
  transport& net = t.job_.net();
  // Inside a node the copy is made in submit(): other messages have their turn between its parts.
  const std::uint64_t longest = o.with->tagged.mapped ? std::uint64_t{8} << 20 : std::uint64_t{1} << 30;
  const std::uint64_t most = net.caps().max_bytes ? std::min(net.caps().max_bytes, longest) : longest;
  while (o.moved < o.wanted) {
    if (o.moved == o.upto && !next_part(o)) return false;
    std::uint64_t part = std::min(most, o.upto - o.moved);
    if (o.parted && o.by_parts->lists) {
      if (!move_list(net, o, kind, part)) return false;
    } else {
      part = name_memory(t, o, part);
      const rma_op op = move_op(kind, o.local, o.local_offset + o.moved, o.with->rank, o.segment, o.far_offset + o.moved,
                                static_cast<std::uint32_t>(part), &o.moving);
      if (net.submit({&op, 1}) == 0) return false;
      o.moved += part;
    }
    if (o.with->tagged.mapped) break;
  }
  return o.moved == o.wanted;
}

}  // namespace tutti::messaging
