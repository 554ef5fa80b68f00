// What active messages keep of a peer.
#pragma once
#include <cstdint>

#include "messaging/outgoing.h"

namespace tutti::messaging {

struct active_pair {
  // Towards the peer.
  std::uint32_t requests = 0;   // of this rank's that the peer has not said to be done with; at most active_messages::most_requests
  std::uint32_t sent = 0;       // one-way messages since it was asked after
  std::uint32_t refused = 0;    // 1 + a number for which the peer has no handler, until this rank's program is told
  bool unanswered = false;      // it is lost and left requests without an answer, of which the program is to be told
  // From the peer.
  std::uint32_t open = 0;       // of its requests that it takes to be under way; at most most_requests
  std::uint32_t owed = 0;       // of these, that are done with
  std::uint32_t refusing = 0;   // 1 + a number, while the peer is being told that there is no handler for it
  outgoing refusal;
};

}  // namespace tutti::messaging
