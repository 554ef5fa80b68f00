// What this rank keeps of another that it has sent messages to, or has been sent some by: made at first contact, kept until the end of
// the endpoint. Each engine has a part of its own in it.
#pragma once
#include <cstdint>

#include "core/base/status.h"
#include "messaging/active_pair.h"
#include "messaging/outgoing.h"
#include "messaging/tagged_pair.h"

namespace tutti::messaging {

struct peer {
  rank_t rank = no_rank;
  std::uint32_t interest = 0;   // things under way that end if it dies: it is asked after while there are any
  outgoing* first = nullptr;    // what waits for the fabric, in order
  outgoing* last = nullptr;
  peer* next_waiting = nullptr; // of those that have something waiting
  bool waiting = false;         // it is in that list
  bool broken = false;          // `lost` has failed
  tagged_pair tagged;
  active_pair active;
  status lost;                  // failed: nothing goes to it any more, and nothing is taken from it
};

}  // namespace tutti::messaging
