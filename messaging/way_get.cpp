// Rendezvous by get: the announcement brings the key of the sender's memory. The receiver gets the data once it has matched, and then says
// that it has finished; until it is told so, the sender keeps its memory registered and its request under way. Where the receiver maps that
// memory, a window's say, the get is a copy from it: the one copy that there is. Of plain memory inside a node the kernel makes it; where
// it may not (ranks of other users or namespaces), nothing has moved when the get fails, and the data come as a stream instead.
#include "messaging/ways.h"

namespace tutti::messaging {

bool way_get::start_receiver(tagged& t, operation& o, const far_memory& there) noexcept {
  if (!reach(t, o, there)) return false;
  o.by = way::get, o.at = stage::getting;
  t.activate(o);
  step_receiver(t, o);
  return true;
}

void way_get::step_receiver(tagged& t, operation& o) noexcept {
  if (!move(t.job_.net(), o, op_kind::get) || !o.moving.idle()) return;
  const status& s = o.moving.outcome();
  if (s.failed() && s.code() != errc::peer_dead && o.with->tagged.mapped) {
    o.moving.clear();
    o.moved = 0;
    return way_stream::start_receiver(t, o);
  }
  t.acknowledge(*o.with, o.other, s.failed());
  if (s.failed()) t.end(o, s);
  else t.finish_receive(o);
}

}  // namespace tutti::messaging
