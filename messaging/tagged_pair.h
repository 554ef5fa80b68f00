// What tagged messages keep of a peer.
//
// Credits. What a receiver keeps without a receive is bounded. It has room for some of all senders (TUTTI_UNEXPECTED_MIB), and beside
// that for some of each: a sender owns `all` units of credit, each of which stands for 64 bytes kept there. What finds a place in
// the common room gives its units back at once, so they count what is on its way and what the common room could not take. An eager message
// takes one unit and one more for each 64 bytes of payload begun, an announcement takes one. The last `for_envelopes` units are for
// announcements and for messages of 64 bytes at most, which stay operations of their sender until a receive takes them, as announced ones
// do. So there is always room for the envelopes behind a flood of data: up to 256 KiB of messages with their data, and 1024 envelopes. Short
// messages beyond the 256 KiB wait for a turn of their sender's once for hundreds of them, not once for each. Units come back when a receive
// has taken the message, with any tagged message of the other direction, or in one of their own once half of the 256 KiB are owed.
//
// A program that MPI lets finish ends. A sender without credit waits with its announcements, and its receiver might wait for just
// one of these. So a receiver that has a receive posted which this sender could satisfy, while the sender has used up all that it was
// given, returns what it owes at once, or else lends another `loan` units (tagged::relieve()). No posted receive matches what is here, so
// the one awaited is still to come, and each loan brings the sender that much nearer to it. What is borrowed beyond the bound are
// envelopes of sends that are under way at the sender, which keeps an operation of its own for each of them, since an eager message that is
// over for its sender needs credit beyond the part for envelopes. Loans are paid back first from units that come free.
//
// A short send that has no credit for its data is complete for its caller all the same, while the sender has room for a copy (as much as
// the receiver has for all): a program whose ranks all send first and receive then must not wait for itself. Its envelope goes
// as any other's, and the data wait in the copy.
#pragma once
#include <cstdint>

#include "core/base/shared_writer.h"
#include "core/transport/transport.h"
#include "messaging/outgoing.h"

namespace tutti::messaging {

class pair_routes;
struct operation;
struct kept;

namespace credits {
inline constexpr std::uint32_t unit = 64, for_data = 256 * 1024 / unit, for_envelopes = 1024, all = for_data + for_envelopes;
inline constexpr std::uint32_t loan = 1024, due = for_data / 2;
// Bytes of memory that a message takes where it waits: of its record and places in the matching, and of its data, rounded up.
constexpr std::uint64_t memory_of(std::uint64_t payload) noexcept { return 512 + 2 * payload; }
constexpr std::uint32_t cost(std::uint64_t payload) noexcept { return 1 + static_cast<std::uint32_t>((payload + unit - 1) / unit); }
}  // namespace credits

struct tagged_pair {
  // Towards the peer.
  std::uint32_t credit = credits::all;       // units that may still be taken
  bool pays_for_data(std::uint64_t payload) const noexcept { return credit >= credits::cost(payload) + credits::for_envelopes; }
  const pair_routes* routes = nullptr;       // from the first contact on
  bool mapped = false;                       // it maps memory that this rank allocates
  operation *waiting_first = nullptr, *waiting_last = nullptr;  // sends without credit, in order
  bool sent_any = false;                     // an envelope, which was this:
  std::uint64_t sent_team = 0, sent_tag = 0;
  bool doomed = false;                       // an answer to it was lost
  bool staging_told = false;                 // it knows this rank's staging memory
  shared_writer writer;                      // into that, for the peer to read
  // From the peer.
  bool came_any = false;                     // an envelope, which was this:
  std::uint64_t team = 0, tag = 0;
  std::uint32_t allowance = credits::all;    // units that it may still take, as far as this rank has told it
  std::uint32_t owed = 0;                    // units to be returned
  std::uint32_t lent = 0;
  std::uint32_t awaited = 0;                 // receives posted from it
  operation* open_receive = nullptr;         // for whom fragments are coming; or
  kept* open_kept = nullptr;                 // what is kept of them
  std::uint64_t open_total = 0, open_so_far = 0;
  const std::byte* staging = nullptr;        // its staging memory, mapped here
  segment_id staging_segment{};              // attached, where staging is not null
  // A message of credits that is due.
  struct credit_item : outgoing {
    bool queued = false;
  } returning;
};

}  // namespace tutti::messaging
