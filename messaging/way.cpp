#include "messaging/ways.h"

#include <algorithm>
#include <new>

#include "core/transport/ops.h"

namespace tutti::messaging {

bool expose(transport& net, const endpoint& e, operation& o, std::uint64_t bytes) noexcept {
  try {
    auto region = net.add({o.data, bytes});
    if (!region) return false;
    o.region = *region, o.registered = true;
    auto key = net.key(*region);
    if (key && key->size() <= e.limits().max_payload) {
      o.key = std::move(*key);
      return true;
    }
  } catch (const std::bad_alloc&) {
  }
  if (o.registered) net.drop(o.region);
  o.registered = false;
  return false;
}

bool reach(transport& net, operation& o, std::span<const std::byte> key) noexcept {
  try {
    auto keys = std::make_shared<blob_table>();
    keys->push_back(key);
    auto segment = net.attach(rank_map::strided(o.with->rank, 1), std::move(keys));
    if (!segment) return false;
    o.segment = *segment, o.attached = true;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool move(transport& net, operation& o, op_kind kind) noexcept {
  constexpr std::uint64_t longest = std::uint64_t{1} << 30;
  const std::uint64_t most = net.caps().max_bytes ? std::min(net.caps().max_bytes, longest) : longest;
  while (o.moved < o.wanted) {
    const std::uint64_t part = std::min(most, o.wanted - o.moved);
    const rma_op op = move_op(kind, unregistered_memory, reinterpret_cast<std::uintptr_t>(o.data) + o.moved, o.with->rank, o.segment,
                              o.moved, static_cast<std::uint32_t>(part), &o.moving);
    if (net.submit({&op, 1}) == 0) return false;
    o.moved += part;
  }
  return true;
}

}  // namespace tutti::messaging
