// Rendezvous through staging memory, between ranks of a node whose data lie in memory that only they reach: the sender copies chunk after
// chunk into slots of its staging memory, and the receiver, which maps that, copies them out, both at once. It is for data in pieces, for those
// too short for the kernel's copy (routes.h), and for where the kernel makes none.
//
// A message has up to four slots for its time, and chunk k is in slot k mod their number. It gets them with its announcement while there are many,
// and the sender fills them while that is under way; else when the receiver has matched it. So announcements that nobody matches hold half of
// the slots at most, and the others go to messages that give them back. Where none is free then, the data go as a stream. Once the receiver has matched, it names each filled slot in a message. The receiver copies a chunk as the message is taken and
// answers with the number of chunks that it has taken; the sender fills chunk k when chunk k - slots was taken. So a slot is
// written by its owner alone, and never while the receiver may read it; messages order the plain copies of both sides, since what is sent
// happens before its receipt. A receiver reads no slot after the last answer, so the slots are free when that has come.
//
// Copies: two, side by side; the receiver reads what is in the sender's cache.
#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "messaging/ways.h"

namespace tutti::messaging {
namespace {

static_assert(std::extent_v<decltype(operation::slots)> == staging_memory::slots_a_message);

constexpr std::uint64_t slot_bytes = staging_memory::slot_bytes;

constexpr std::uint64_t chunks_of(std::uint64_t bytes) noexcept { return (bytes + slot_bytes - 1) / slot_bytes; }

}  // namespace

bool way_staged::prepare(tagged& t, peer& p, operation& o) noexcept {
  if (!t.staging_.ready(t.job_.net()) || t.staging_.key().size() > t.end_.limits().max_payload) return false;
  if (t.staging_.unused() > staging_memory::slots / 2) take_slots(t, o, o.room);
  if (p.tagged.staging_told) return true;
  const wire_prefix prefix{static_cast<std::uint8_t>(wire_kind::staging_key)};
  p.tagged.staging_told = t.end_.send(p, bytes_of(prefix), t.staging_.key());
  return p.tagged.staging_told;
}

void way_staged::key(tagged& t, peer& p, std::span<const std::byte> key) noexcept {
  if (p.tagged.staging) return t.end_.malformed(p, "another staging memory");
  transport& net = t.job_.net();
  try {
    auto keys = std::make_shared<blob_table>();
    keys->push_back(key);
    auto segment = net.attach(rank_map::strided(p.rank, 1), std::move(keys));
    if (!segment) return;
    p.tagged.staging = net.map(*segment, p.rank);
    p.tagged.staging_segment = *segment;
    if (!p.tagged.staging) net.drop(*segment);
  } catch (const std::bad_alloc&) {
  }
}

void way_staged::take_slots(tagged& t, operation& o, std::uint64_t bytes) noexcept {
  const auto wanted = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunks_of(bytes), staging_memory::slots_a_message));
  o.slot_count = t.staging_.take(wanted, o.slots);
}

void way_staged::start_sender(tagged& t, operation& o) noexcept {
  if (o.slot_count == 0) take_slots(t, o, o.wanted);
  if (o.slot_count == 0) return way_stream::start_sender(t, o);
  o.at = stage::staging;
  t.activate(o);
  step_sender(t, o);
}

bool way_staged::start_receiver(tagged& t, operation& o) noexcept {
  if (!o.with->tagged.staging) return false;
  o.by = way::staged, o.at = stage::awaiting;
  const wire_message<wire_matched> m{{static_cast<std::uint8_t>(wire_kind::matched)},
                                     {o.other, o.name(), o.wanted, 0, static_cast<std::uint32_t>(way::staged), 0}};
  t.say(*o.with, bytes_of(m), {});
  return true;
}

// One chunk a step: other messages have their turn in between.
void way_staged::step_sender(tagged& t, operation& o) noexcept {
  if (o.by != way::staged) return;
  const std::uint64_t bytes = o.at == stage::staging ? o.wanted : o.room;
  if (o.filled * slot_bytes < bytes && o.filled < o.arrived + o.slot_count) {
    const std::uint64_t at = o.filled * slot_bytes;
    const std::span<std::byte> slot(t.staging_.slot(o.slots[o.filled % o.slot_count]), std::min(slot_bytes, bytes - at));
    if (o.pieces && !o.data) o.where->read(at, slot);
    else o.with->tagged.writer.copy(slot.data(), o.data + at, slot.size());
    ++o.filled;
  }
  if (o.at != stage::staging) return;
  for (const std::uint64_t end = std::min<std::uint64_t>(o.filled, chunks_of(bytes)); o.told < end; ++o.told) {
    const std::uint64_t at = o.told * slot_bytes;
    const wire_message<wire_chunk> m{{static_cast<std::uint8_t>(wire_kind::chunk)},
                                     {o.other, at, static_cast<std::uint32_t>(std::min(slot_bytes, bytes - at)), o.slots[o.told % o.slot_count]}};
    if (!t.end_.send_in_turn(*o.with, bytes_of(m), {})) return;
  }
}

void way_staged::taken(tagged& t, operation& o, std::uint64_t chunks) noexcept {
  o.arrived = chunks;
  if (chunks == chunks_of(o.wanted)) t.end(o, {});
}

bool way_staged::valid(const operation& o, const wire_chunk& c) noexcept {
  return o.at == stage::awaiting && o.by == way::staged && c.slot < staging_memory::slots && c.offset == o.moved && o.moved < o.wanted &&
         c.bytes == std::min(slot_bytes, o.wanted - o.moved);
}

void way_staged::chunk(tagged& t, operation& o, const wire_chunk& c) noexcept {
  t.give_payload(o, o.moved, {o.with->tagged.staging + c.slot * slot_bytes, c.bytes});
  o.moved += c.bytes;
  ++o.filled;
  t.tell(o, [](outgoing& item, endpoint& e, peer& p) noexcept {
    const auto& r = static_cast<operation&>(item);
    const wire_message<wire_taken> m{{static_cast<std::uint8_t>(wire_kind::taken)}, {r.other, r.filled}};
    return e.send_in_turn(p, bytes_of(m), {});
  });
  if (o.moved == o.wanted) t.finish_receive(o);
}

}  // namespace tutti::messaging
