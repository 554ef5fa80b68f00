// Rendezvous by get: the announcement brings the key of the sender's memory. The receiver gets the data once it has matched, and then says
// that it has finished; until it is told so, the sender keeps its memory registered and its request under way. Where the receiver maps that
// memory, a window's say, the get is a copy from it: the one copy that there is. Of plain memory inside a node the kernel makes it; where
// it may not (ranks of other users or namespaces), nothing has moved when the get fails, and the data come as a stream instead.
//
// In parts. What must be registered or packed before it can be got is made ready in parts, where that is cheaper (routes.h). The
// announcement brings the key of the first. A receiver that wants more says so when it has matched, and gets the first part meanwhile.
// Then the sender makes a part ready in each of its steps and tells its key; the receiver gets each as it learns of it. So what the one end
// makes ready, the other moves at the same time. What is registered already is one part, whatever its size. The others end at addresses
// that are multiples of their size: neighbours share no page, so that none takes the place of another.
// Every part stays registered until the receiver has finished. Where a later one cannot be registered, here or attached there, the receiver
// gets what it knows of, and asks for the rest as a stream; it asks only when all gets have landed, so that nobody else writes there.
#include <algorithm>
#include <new>

#include "messaging/ways.h"

namespace tutti::messaging {

bool way_get::start_receiver(tagged& t, operation& o, const far_memory& there) noexcept {
  if (!reach(t, o, there)) return false;
  o.by = way::get, o.at = stage::getting;
  if (o.upto < o.wanted) {
    const wire_message<wire_matched> m{{static_cast<std::uint8_t>(wire_kind::matched)},
                                       {o.other, o.name(), o.wanted, 0, static_cast<std::uint32_t>(way::get), 0}};
    t.say(*o.with, bytes_of(m), {});
  }
  t.activate(o);
  step_receiver(t, o);
  return true;
}

void way_get::step_receiver(tagged& t, operation& o) noexcept {
  const bool all = move(t, o, op_kind::get);
  if (!o.moving.idle()) return;
  const status& s = o.moving.outcome();
  if (s.ok() && !all) {
    if (o.parted && o.by_parts->rest_as_stream && o.moved == o.upto && !o.by_parts->again) way_stream::start_receiver(t, o);
    return;
  }
  if (s.failed() && s.code() != errc::peer_dead && o.with->tagged.mapped) {
    o.moving.clear();
    o.moved = 0;
    return way_stream::start_receiver(t, o);
  }
  t.acknowledge(*o.with, o.other, s.failed());
  if (s.failed()) t.end(o, s);
  else t.finish_receive(o);
}

void way_get::start_sender(tagged& t, operation& o) noexcept {
  o.at = stage::offering;
  t.activate(o);
  step_sender(t, o);
}

// One part a step: what the others need has its turn in between.
void way_get::step_sender(tagged& t, operation& o) noexcept {
  parts& p = *o.by_parts;
  if (p.rest_as_stream || p.offered >= o.wanted) return;
  const std::uint64_t from = p.offered;
  std::uint64_t bytes = part_at(o.data + from, o.room - from, p.piece);
  wire_message<wire_key> m{{static_cast<std::uint8_t>(wire_kind::key)}, {o.other, from, bytes, 0, o.lasting}};
  std::span<const std::byte> key = o.key;
  if (p.registers) {
    try {
      registration_cache& kept = t.job_.registrations();
      m.body.bytes = bytes = registered_part(kept, o.data + from, o.room - from, p.piece);
      p.registered.reserve(p.registered.size() + 1);
      auto use = kept.acquire({o.data + from, bytes});
      if (use && use->key().size() > t.end_.limits().max_payload) kept.release(*use);
      else if (use) p.registered.push_back(*use), key = p.registered.back().key(), m.body.offset = use->offset();
      p.rest_as_stream = !use || !*use;
    } catch (const std::bad_alloc&) {
      p.rest_as_stream = true;
    }
  } else {
    m.body.offset = o.offset + from;
  }
  if (o.buffer && !p.rest_as_stream) o.where->read(from, {o.data + from, bytes}), p.packed = from + bytes;
  if (p.rest_as_stream) m.body.bytes = 0, key = {};
  else p.offered = from + bytes;
  if (!p.rest_as_stream && p.offered < o.wanted) t.job_.wake_at(t.job_.net().now());  // there is more to do: nobody sleeps
  t.say(*o.with, bytes_of(m), key);
}

bool way_get::valid(const operation& o, const wire_key& k, std::size_t key_bytes) noexcept {
  if (o.at != stage::getting || o.by != way::get || (o.parted && o.by_parts->rest_as_stream)) return false;
  const std::uint64_t from = o.parted && !o.by_parts->told.empty() ? o.by_parts->told.back().upto : o.upto;
  return k.from == from && from < o.wanted && k.bytes <= o.total - from && (k.bytes == 0) == (key_bytes == 0);
}

void way_get::key(tagged& t, operation& o, const wire_key& k, std::span<const std::byte> key) noexcept {
  if (k.bytes == 0 || !reach_more(t, o, {key, k.offset, k.lasting != 0, k.bytes})) {
    if (parts* const p = parts_of(o)) p->rest_as_stream = true;
    else t.acknowledge(*o.with, o.other, true), t.end(o, no_memory_for_receive());
  }
  if (o.at == stage::getting) step_receiver(t, o);
}

}  // namespace tutti::messaging
