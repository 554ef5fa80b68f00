// Rendezvous by put: the receiver registers its buffer and answers with the key. The sender puts, and says that it has finished when a flush
// has completed: a message overtakes puts, so it is sent only when these are visible. The receiver's buffer is its own again with that message.
#include <string>

#include "messaging/ways.h"

namespace tutti::messaging {

void way_put::ask(tagged& t, operation& o) noexcept {
  if (!expose(t.job_.net(), t.end_, o, o.wanted)) {
    t.acknowledge(*o.with, o.other, true);
    return t.end(o, status(errc::no_resource, "the buffer of a receive from rank " + std::to_string(o.with->rank) + " cannot be registered"));
  }
  o.by = way::put, o.at = stage::awaiting;
  const wire_message<wire_matched> m{{static_cast<std::uint8_t>(wire_kind::matched)},
                                     {o.other, o.name(), o.wanted, static_cast<std::uint32_t>(way::put)}};
  t.say(*o.with, bytes_of(m), o.key);
}

void way_put::start_sender(tagged& t, operation& o, std::span<const std::byte> key) noexcept {
  if (o.attached || !reach(t.job_.net(), o, key)) {
    t.acknowledge(*o.with, o.other, true);
    return t.end(o, status(errc::no_resource, "the buffer of the receive at rank " + std::to_string(o.with->rank) + " cannot be reached", o.with->rank));
  }
  o.by = way::put, o.at = stage::putting;
  t.activate(o);
  step_sender(t, o);
}

void way_put::step_sender(tagged& t, operation& o) noexcept {
  transport& net = t.job_.net();
  if (o.at == stage::putting) {
    if (!move(net, o, op_kind::put) || !net.flush(o.with->rank, &o.moving)) return;
    o.at = stage::flushing;
  }
  if (!o.moving.idle()) return;
  const status& s = o.moving.outcome();
  t.acknowledge(*o.with, o.other, s.failed());
  t.end(o, s);
}

}  // namespace tutti::messaging
