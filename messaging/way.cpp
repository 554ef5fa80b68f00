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

bool reach(tagged& t, operation& o, const far_memory& there) noexcept {
  o.far_offset = there.offset;
  try {
    if (there.lasting) {
      auto use = t.job_.attachments().acquire(o.with->rank, there.key);
      if (!use) return false;
      o.reached = *use, o.segment = o.reached.segment();
      return true;
    }
    auto keys = std::make_shared<blob_table>();
    keys->push_back(there.key);
    auto segment = t.job_.net().attach(rank_map::strided(o.with->rank, 1), std::move(keys));
    if (!segment) return false;
    o.segment = *segment, o.attached = true;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool move(transport& net, operation& o, op_kind kind) noexcept {
  // Inside a node the copy is made in submit(): other messages have their turn between its parts.
  const std::uint64_t longest = o.with->tagged.mapped ? std::uint64_t{8} << 20 : std::uint64_t{1} << 30;
  const std::uint64_t most = net.caps().max_bytes ? std::min(net.caps().max_bytes, longest) : longest;
  while (o.moved < o.wanted) {
    const std::uint64_t part = std::min(most, o.wanted - o.moved);
    const rma_op op = move_op(kind, unregistered_memory, reinterpret_cast<std::uintptr_t>(o.data) + o.moved, o.with->rank, o.segment,
                              o.far_offset + o.moved, static_cast<std::uint32_t>(part), &o.moving);
    if (net.submit({&op, 1}) == 0) return false;
    o.moved += part;
    if (o.with->tagged.mapped) break;
  }
  return o.moved == o.wanted;
}

}  // namespace tutti::messaging
