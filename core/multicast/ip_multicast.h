// Multicast (core/transport/multicast.h) over UDP, for any provider whose hosts carry IP. A provider owns one and
//  - makes it in open(): ip_.emplace([this] { return progress(); }, [this](rank_t r) { return health(r); }, params)
//  - sends its blob with the address, and hands everyone's to connect()
//  - adds wait_fd() to what its sleep() and wait_fd() wait for, and calls arm() when it arms
//  - calls progress() in its own
//  - returns usable() as mcast()
//
// A group is an address of 239.255.0.0/16, IP's local scope (RFC 2365), with a port of 61000 to 65095, above those that
// Linux gives out by itself. Both come from a hash of the job's id, the creator and a random number. Two groups may
// still meet at one address; then the keyed check drops the other's datagrams, as it drops any outsider's: every datagram
// carries the group's 64-bit name, its sender and tag, and SipHash-2-4 of all that and of the payload, by a key that the creator
// draws and that travels in the token alone. So a datagram that is received was sent by a member of this group of this job, as it
// was received; it may be old (contract: repeated).
//
// Interface. Where all members share a network namespace: loopback, on which the kernel hands one datagram to every
// socket that listens. Else the creator takes the one that reaches the most hosts of the group by the kernel's routes,
// and each joiner the one that leads to the creator's. TUTTI_MULTICAST_INTERFACE overrides both, in the rank where the
// variable is set; "none" switches multicast off in all ranks.
//
// Does it arrive? Switches and firewalls may drop multicast silently. So join() asks the creator, by unicast, to
// say hello: the answer comes by unicast and by multicast, and join() is done when the multicast was heard. When many
// answers came and no hello, or nothing at all for some seconds, join() fails and says so, and every later create() and
// join() of this rank fails at once: engines then take an algorithm without multicast rather than hang. For this the
// creator must drive progress() while others join, as it does in any wait. Where a member has died, join() says that.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/epoll_set.h"
#include "core/multicast/ip_datagram.h"
#include "core/multicast/ip_socket.h"
#include "core/transport/multicast.h"
#include "core/transport/provider.h"

namespace tutti {

class ip_multicast final : public multicast {
 public:
  // Never fails: why_not() says what is missing. `drive` and `health` are the owner's progress() and health(), called
  // while join() waits.
  ip_multicast(std::function<unsigned()> drive, std::function<status(rank_t)> health, const open_params&);
  ~ip_multicast() override;

  // Once connected: this object, or null where some rank cannot take part. Alike in all ranks.
  multicast* usable() noexcept { return why_not_.ok() ? this : nullptr; }
  const status& why_not() const noexcept { return why_not_; }

  std::vector<std::byte> address() const;
  status connect(const blob_table& addresses);  // by rank. Error: protocol (a rank's is no address)
  int wait_fd() const noexcept { return poll_.fd(); }  // -1 where multicast is not usable
  // What arrives after arm() makes wait_fd() readable; the caller looks for what arrived before. False: a send() was refused
  // and nothing will tell when there is room.
  bool arm() noexcept;
  unsigned progress() noexcept {
    ++looks_;
    return to_answer_ ? answer_probes() : (refused_ = false, 0u);
  }

  limits query() const noexcept override;
  result<group_id> create(const rank_map& members, std::vector<std::byte>& token, time_point deadline) override;
  result<group_id> join(const rank_map& members, std::span<const std::byte> token, time_point deadline) override;
  bool send(group_id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override;
  // Engines call this thousands of times while they spin. The kernel is asked once for each progress() or arm().
  bool receive(group_id, datagram& out) noexcept override;
  void leave(group_id) noexcept override;

  std::uint64_t rejected() const noexcept { return rejected_; }  // datagrams dropped by the check, ever

 private:
  struct group;
  group* at(group_id) noexcept;
  status ready() const;
  result<ip_interface> interface_for(const rank_map& members) const;
  result<ip_interface> interface_with(std::uint32_t address) const;
  bool shares_host(const rank_map& members) const noexcept;
  result<group_id> enter(std::unique_ptr<group>);
  status listen_for_hello(group&, ip_endpoint creator, rank_t creator_rank, time_point deadline);
  void say(group&, datagram_kind, ip_endpoint to, std::uint32_t tag) noexcept;
  unsigned answer_probes() noexcept;
  bool answer_probes(group&) noexcept;

  std::function<unsigned()> drive_;
  std::function<status(rank_t)> health_;
  const std::uint64_t job_;
  const rank_t rank_;
  const std::uint32_t hops_;
  status why_not_;
  status deaf_;                        // multicast was not heard by a join()
  std::vector<ip_interface> interfaces_;
  std::optional<ip_interface> forced_;
  ip_place here_;
  std::vector<ip_place> places_;       // by rank, once connected
  std::uint32_t max_payload_ = 0;
  std::uint32_t depth_ = 0;
  std::vector<std::unique_ptr<group>> groups_;
  std::uint32_t to_answer_ = 0;        // groups that others may still be joining
  std::uint32_t turns_ = 0;
  std::uint64_t looks_ = 1;            // progress() and arm() so far
  epoll_set poll_;                     // of the groups' sockets, edge-triggered
  bool refused_ = false;
  std::uint64_t rejected_ = 0;
};

}  // namespace tutti
