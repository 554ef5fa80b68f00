// Messages on the links of a topology.
//
// Cut-through: the first byte of a message goes on to the next link hop_us after it entered the last one, or when that link has
// sent what came before; a message of b bytes occupies each link of its route for b / bandwidth from then on. Nothing is lost
// and buffers have no end, so a message that must wait holds up nobody but those behind it on the same link. (Credits of a real
// lossless network spread a jam further back: what is shown here is the least that contention costs.)
//
// Why nothing overtakes. A pair's route is fixed, a link serves in the order in which first bytes come to it, and what has come
// first has the smaller sequence number where times are equal. So of two messages of one pair the one that enters first is
// ahead on each link.
#include "providers/sim/net.h"

namespace tutti::sim {

void fabric::carry(ns enters, rank_t from, rank_t to, std::uint64_t bytes, ns then, const event& out) {
  const std::uint32_t a = node_of(from), b = node_of(to), hops = wires.flat() ? 0 : wires.hops(a, b);
  if (hops == 0) return push(enters + then, out.seq, out.kind, out.who, out.arg);
  std::uint32_t index;
  if (free_travellers.empty()) {
    index = static_cast<std::uint32_t>(travellers.size());
    travellers.emplace_back();
  } else {
    index = free_travellers.back();
    free_travellers.pop_back();
  }
  travellers[index] = {out, a, b, 0, hops, bytes, 0, then};
  push(enters, out.seq, event_kind::hop, out.who, index);
}

void fabric::hop(const event& e) {
  const auto index = static_cast<std::uint32_t>(e.arg);
  traveller& t = travellers[index];
  link_state& l = links[wires.link(t.from, t.to, t.taken)];
  const ns begins = std::max(e.at, l.free), lasts = for_link(t.bytes);
  l.waited += begins - e.at;
  l.free = begins + lasts, l.used += lasts;
  ++l.messages, l.bytes += t.bytes;
  t.last_byte = std::max(t.last_byte, begins + lasts + hop_time * (t.hops - t.taken));
  const ns out = begins + hop_time;
  if (++t.taken < t.hops) return push(out, e.seq, event_kind::hop, e.who, index);
  // The adapter takes in a message at its own rate from the first byte on; where a link was slower, so much later that it ends
  // with the last.
  const ns first = std::max(out, t.last_byte - net_link.wire(t.bytes));
  push(first + t.then, t.out.seq, t.out.kind, t.out.who, t.out.arg);
  free_travellers.push_back(index);
}

}  // namespace tutti::sim
