// A message that has no receive yet: the payload of an eager one, or an announcement. Also one that a receive has taken while its
// fragments still come, and one that was taken out of the matching by a probe.
#pragma once
#include <cstddef>
#include <cstdint>

#include "messaging/matching.h"
#include "messaging/operation.h"

namespace tutti::messaging {

struct kept : arrival {
  peer* from = nullptr;
  tutti::team* group = nullptr;  // set with the ticket
  operation* taker = nullptr;    // the receive that it is for
  std::uint64_t bytes = 0;       // of the message
  std::uint64_t so_far = 0;      // of an eager one
  std::uint64_t other = 0;       // how its sender names it; eager: of a synchronous send, which is to be told
  std::byte* data = nullptr;     // eager: the payload; announced: the key
  std::uint32_t data_bytes = 0;  // of that buffer
  std::uint64_t offset = 0;      // announced: of the data in the region of the key
  std::uint64_t ready = 0;       // and how many bytes of the message that holds
  bool lasting = false;          // and whether that stays
  std::uint32_t cost = 0;        // units of credit
  bool in_room = false;          // that of all senders, where its credit was returned at once
  std::uint64_t ticket = 0;      // of a probe that took it; 0: none
  kept *before = nullptr, *after = nullptr;  // of all that is kept
  way by = way::none;            // none: eager
  bool sync = false;
  bool released = false;         // its credit was returned
};

}  // namespace tutti::messaging
