// Two-sided messages, an optional interface of a transport (transport::sendrecv()).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/rank_map.h"

namespace tutti {

// Small messages from rank to rank, each a header and a payload, which the target takes one after the other: what a fabric has
// below one-sided operations, and what matching and active messages are built upon. Whether a transport has them is known once it
// is connected, and is alike in all ranks. The clauses of transport.h hold, and of these messages in particular:
//
// Order.          Messages of one origin to one target are received in the order in which they were taken, each exactly once,
//                 as long as both ranks live. Nothing else is ordered: neither messages of different origins nor messages and
//                 operations of submit(), of which either may overtake the other, and flush() says nothing about messages. A
//                 message that announces a put is sent when a flush has completed, or the put's signal announces it itself.
// Back-pressure.  A target keeps what it has not received within a fixed room. While that is used up, its senders are refused,
//                 as by clause 2; nothing is lost, and nothing waits anywhere else. A rank that receives whatever it is sent
//                 takes every sender's offers at last. A rank that is refused goes on receiving: two that only send to each
//                 other may wait for ever. Operations upon a target that has no room left, and what it sends, go on. A sleep
//                 that follows a refusal ends when there may be room.
// Memory.         What a rank holds for them is at most fixed_bytes + peers * peer_bytes, as query() has it; peers: the ranks that
//                 it has sent to, or been sent something by. Ranks that it never talked to cost nothing.
// Failure.        Clause 10. A message towards a rank that has ended is lost, whether it was taken before or after; no call tells
//                 of the message, health() tells of the rank, and from then on nothing for it is refused for long. Messages that
//                 had arrived before their sender ended are received all the same. Where send() refuses for long because this
//                 process lacks something (memory, descriptors) to reach the rank, health() says so.
// Progress.       Clause 8 without caps().target_must_progress: a message may need the progress of both ranks.
// Teardown.       Clause 11. What was not received when either rank leaves may be lost.
class two_sided {
 public:
  struct limits {
    std::uint32_t max_header;   // bytes of one message's header, 64 or more, and of its payload, 1024 or more
    std::uint32_t max_payload;
    std::uint64_t fixed_bytes;  // memory, see above
    std::uint64_t peer_bytes;
  };
  struct message {
    rank_t from = no_rank;
    std::span<const std::byte> header, payload;  // each begins at a multiple of 8, or is empty
  };
  virtual ~two_sided() = default;
  virtual limits query() const noexcept = 0;
  // False: full; nothing was taken. Header and payload are copied before send() returns. A rank may send to itself.
  [[nodiscard]] virtual bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept = 0;
  // The next message from anybody, if there is one: valid until the next receive(). Senders take turns, none is passed over for
  // good. After receive() has returned false, a message may stay unseen until the next progress() or arm(): so receive() is cheap
  // enough to be called while spinning. The room of a message is free again with the receive() that follows.
  [[nodiscard]] virtual bool receive(message& out) noexcept = 0;
};

}  // namespace tutti
