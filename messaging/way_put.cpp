// Rendezvous by put: the receiver registers its buffer and answers with the key. The sender puts, and says that it has finished when a flush
// has completed: a message overtakes puts, so it is sent only when these are visible. The receiver's buffer is its own again with that message.
// Data in pieces at the sender are put piece by piece from where they lie, where that costs less than to pack them (routes.h): the sender
// announces this way then.
#include <string>

#include "messaging/ways.h"

namespace tutti::messaging {

namespace {

void ask_for_put(operation& o, auto say) {
  o.by = way::put, o.at = stage::awaiting;
  say(*o.with, wire_message<wire_matched>{{static_cast<std::uint8_t>(wire_kind::matched)},
                                          {o.other, o.name(), o.wanted, o.offset, static_cast<std::uint32_t>(way::put), o.lasting}});
}

}  // namespace

bool way_put::ask_lasting(tagged& t, operation& o) noexcept {
  if (!share_lasting(t, o, o.wanted)) return false;
  ask_for_put(o, [&](peer& p, const auto& m) { t.say(p, bytes_of(m), o.key); });
  return true;
}

void way_put::ask(tagged& t, operation& o) noexcept {
  if (!share(t, o, o.wanted)) return way_stream::start_receiver(t, o);
  ask_for_put(o, [&](peer& p, const auto& m) { t.say(p, bytes_of(m), o.key); });
}

void way_put::start_sender(tagged& t, operation& o, const far_memory& there) noexcept {
  const bool listed = o.parted && o.by_parts->lists;
  if ((!listed && !t.need_buffer(o, o.room, true)) || !reach(t, o, there)) {
    t.acknowledge(*o.with, o.other, true);
    return t.end(o, status(errc::no_resource, worded("the buffer of the receive at rank ", o.with->rank, " cannot be reached"),
                                                     o.with->rank));
  }
  o.by = way::put, o.at = stage::putting;
  t.activate(o);
  step_sender(t, o);
}

void way_put::step_sender(tagged& t, operation& o) noexcept {
  transport& net = t.job_.net();
  if (o.at == stage::putting) {
    if (!move(t, o, op_kind::put) || !net.flush(o.with->rank, &o.moving)) return;
    o.at = stage::flushing;
  }
  if (!o.moving.idle()) return;
  const status& s = o.moving.outcome();
  t.acknowledge(*o.with, o.other, s.failed());
  t.end(o, s);
}

}  // namespace tutti::messaging
