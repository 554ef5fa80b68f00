// Rendezvous by small messages: the sender sends the data in pieces of one message of the fabric each, once the receiver has matched. It is
// what the channel design does with all long messages (Huang 2005, 3.1), and what is left where neither end's memory can be registered. A stream
// stands in the queue of the endpoint until its last piece has gone, so streams of a pair go one after the other, and messages that follow wait.
//
// What has been got before, of memory that could be registered in part (way_get.cpp), does not come again.
//
// The pieces need no credit: they are copied out as they come, into the buffer of the receive.
#include "messaging/ways.h"

namespace tutti::messaging {

void way_stream::start_receiver(tagged& t, operation& o) noexcept {
  o.by = way::stream, o.at = stage::awaiting;
  const wire_message<wire_matched> m{{static_cast<std::uint8_t>(wire_kind::matched)},
                                     {o.other, o.name(), o.wanted, o.moved, static_cast<std::uint32_t>(way::stream), 0}};
  t.say(*o.with, bytes_of(m), {});
}

void way_stream::start_sender(tagged& t, operation& o) noexcept {
  if (!t.need_buffer(o, o.room, true)) {
    t.acknowledge(*o.with, o.other, true);
    return t.end(o, status(errc::no_resource, "out of memory for the data of a send"));
  }
  o.by = way::stream, o.at = stage::streaming;
  o.offer = [](outgoing& item, endpoint& e, peer& p) noexcept {
    auto& s = static_cast<operation&>(item);
    while (s.moved < s.wanted) {
      const std::span<const std::byte> part(s.data + s.moved, std::min<std::uint64_t>(e.limits().max_payload, s.wanted - s.moved));
      const wire_message<wire_data> m{{static_cast<std::uint8_t>(wire_kind::data)}, {s.other, s.moved}};
      if (!e.send_in_turn(p, bytes_of(m), part)) return false;
      s.moved += part.size();
    }
    return true;
  };
  o.over = [](outgoing& item, endpoint& e, peer&, const status& s) noexcept { tagged::of(e).end(static_cast<operation&>(item), s); };
  peer& p = *o.with;
  if (!p.first && o.offer(o, t.end_, p)) t.end(o, {});
  else t.end_.enqueue(p, o);
}

bool way_stream::valid(const operation& o, const wire_data& d, std::size_t bytes) noexcept {
  return o.at == stage::awaiting && (o.by == way::stream || o.by == way::staged) && d.offset == o.moved && bytes > 0 && bytes <= o.wanted - o.moved;
}

void way_stream::data(tagged& t, operation& o, std::span<const std::byte> part) noexcept {
  t.give_payload(o, o.moved, part);
  o.moved += part.size();
  if (o.moved == o.wanted) t.finish_receive(o);
}

}  // namespace tutti::messaging
