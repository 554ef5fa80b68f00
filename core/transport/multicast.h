// Multicast, an optional interface of a transport (transport::mcast()).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/rank_map.h"
#include "core/base/status.h"
#include "core/base/time_point.h"

namespace tutti {

// Datagrams from any member of a group to all others. They may be lost, repeated or reordered, and are never corrupted nor from
// an outsider. The sender does not receive its own datagrams. Whether a transport has multicast is known once it is connected,
// and is alike in all ranks. Whether a group can be formed shows when it is formed, and may differ between its members: an
// engine that relies on a group first exchanges the members' outcomes.
class multicast {
 public:
  enum class group_id : std::uint32_t {};
  struct limits {
    std::uint32_t max_payload;    // bytes of one datagram
    std::uint32_t max_groups;     // joined at once
    std::uint32_t receive_depth;  // datagrams kept for a slow receiver before the oldest or newest is lost
    // Estimates; none: unknown.
    std::optional<double> latency_us;    // from send() until all have received a small datagram
    std::optional<double> bytes_per_ns;  // one sender's full datagrams, one after the other
  };
  struct datagram {
    rank_t from;
    std::uint32_t tag;
    std::span<const std::byte> payload;
  };
  virtual ~multicast() = default;
  virtual limits query() const noexcept = 0;
  // One of `members` creates a group and hands the token to the others, who join. Both calls block until this rank can
  // receive, or until the deadline. Joining may need progress() of the creator. Errors: no_resource (too
  // many groups, descriptors, memberships of the kernel), unavailable (the creator's datagrams do not arrive here), timed_out.
  virtual result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) = 0;
  virtual result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) = 0;
  // False: full (clause 2). The payload, at most max_payload bytes, is copied before send() returns.
  virtual bool send(group_id, std::uint32_t tag, std::span<const std::byte> payload) noexcept = 0;
  // The next datagram, if any; its payload is valid until the next receive() on this group. After receive() has returned
  // false, a datagram may stay unseen until the next progress() or arm(): so receive() is cheap enough to be called while
  // spinning.
  virtual bool receive(group_id, datagram& out) noexcept = 0;
  virtual void leave(group_id) noexcept = 0;
};

}  // namespace tutti
