// Something that waits to be handed to the fabric towards one peer: Huang 2005's request queue (3.2). Lives in its owner; the queue
// only links it.
#pragma once
#include "core/base/status.h"

namespace tutti::messaging {

class endpoint;
struct peer;

struct outgoing {
  outgoing* next = nullptr;
  // Hands over as much as the fabric takes now. False: not all of it; it is asked again, and nothing that came later goes before.
  bool (*offer)(outgoing&, endpoint&, peer&) noexcept = nullptr;
  // The item is out of the queue: with success, all of it was handed over; else the peer is lost. The item may go, or be queued again.
  void (*over)(outgoing&, endpoint&, peer&, const status&) noexcept = nullptr;
};

}  // namespace tutti::messaging
