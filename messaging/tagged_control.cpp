// The two ends of a rendezvous tell each other how far they are: what comes of that is checked against the operation that it names.
#include <string>

#include "messaging/tagged.h"
#include "messaging/ways.h"

namespace tutti::messaging {

// Tells the peer that one of its operations needs no more of this rank.
void tagged::acknowledge(peer& p, std::uint64_t name, bool failed) noexcept {
  say(p, bytes_of(wire_message<wire_finished>{{static_cast<std::uint8_t>(wire_kind::finished)}, {name, failed}}), {});
}

bool tagged::take_control(peer& p, const wire_prefix& prefix, bytes_view header, bytes_view payload) noexcept {
  const auto named = [&](std::uint64_t name, bool sends) -> operation* {  // null also for one that is over: by a death, say
    operation* const o = operations_.find(name);
    return o && o->sends == sends && o->with == &p && o->at != stage::ending ? o : nullptr;
  };
  constexpr std::size_t at = sizeof(wire_prefix);
  switch (static_cast<wire_kind>(prefix.kind)) {
    case wire_kind::matched: {
      wire_matched m;
      if (!read_from(header, at, m)) break;
      operation* const o = named(m.sender, true);
      if (!o) return true;
      if (m.wanted == 0 || m.wanted > o->room) break;
      const bool in_parts = o->by == way::get && o->parted && o->by_parts->piece;
      const bool streams = m.way == static_cast<std::uint32_t>(way::stream);
      if (o->at != stage::announced && !(o->at == stage::offering && streams && m.wanted == o->wanted)) break;
      if (streams && (m.offset >= m.wanted || (m.offset > 0 && !in_parts))) break;
      o->other = m.receiver, o->wanted = m.wanted;
      if (m.way == static_cast<std::uint32_t>(way::put) && payload.empty()) break;
      if (m.way == static_cast<std::uint32_t>(way::put)) return way_put::start_sender(*this, *o, {payload, m.offset, m.lasting != 0, m.wanted}), true;
      if (streams) return o->moved = m.offset, way_stream::start_sender(*this, *o), true;
      if (m.way == static_cast<std::uint32_t>(way::get) && in_parts) return way_get::start_sender(*this, *o), true;
      if (m.way != static_cast<std::uint32_t>(way::staged) || o->by != way::staged) break;
      way_staged::start_sender(*this, *o);
      return true;
    }
    case wire_kind::chunk: {
      wire_chunk c;
      if (!read_from(header, at, c)) break;
      operation* const o = named(c.receiver, false);
      if (!o) return true;
      if (!way_staged::valid(*o, c)) break;
      way_staged::chunk(*this, *o, c);
      return true;
    }
    case wire_kind::data: {
      wire_data d;
      if (!read_from(header, at, d)) break;
      operation* const o = named(d.receiver, false);
      if (!o) return true;
      if (!way_stream::valid(*o, d, payload.size())) break;
      way_stream::data(*this, *o, payload);
      return true;
    }
    case wire_kind::taken: {
      wire_taken t;
      if (!read_from(header, at, t)) break;
      operation* const o = named(t.sender, true);
      if (!o) return true;
      if (o->at != stage::staging || t.chunks < o->arrived || t.chunks > o->told) break;
      way_staged::taken(*this, *o, t.chunks);
      return true;
    }
    case wire_kind::finished: {
      wire_finished f;
      if (!read_from(header, at, f)) break;
      operation* const o = operations_.find(f.name);
      if (!o || o->with != &p || o->at == stage::ending) return true;
      if (o->at == stage::queued && o->by == way::none && o->told > 0 && o->sync && !f.failed) {
        o->sync = false;  // matched while its last parts still wait for the fabric
        return true;
      }
      const bool expected = o->sends ? o->at == stage::announced || o->at == stage::offering : o->at == stage::awaiting && (o->by == way::put || f.failed);
      if (!expected) break;
      if (f.failed) end(*o, status(errc::fabric, worded("the data of a message did not come through between this rank and rank ",
                                                        p.rank), p.rank));
      else if (o->sends) end(*o, {});
      else finish_receive(*o);
      return true;
    }
    case wire_kind::key: {
      wire_key k;
      if (!read_from(header, at, k)) break;
      operation* const o = named(k.receiver, false);
      if (!o || o->by == way::stream) return true;  // it goes on without
      if (!way_get::valid(*o, k, payload.size())) break;
      way_get::key(*this, *o, k, payload);
      return true;
    }
    case wire_kind::staging_key:
      if (payload.empty()) break;
      way_staged::key(*this, p, payload);
      return true;
    default: break;
  }
  end_.malformed(p, "an answer about messages that is of no known form");
  return true;
}

}  // namespace tutti::messaging
