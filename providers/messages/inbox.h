// Two-sided messages (packets here, since everything is a message) between this rank and one peer: the room for them at either
// end, and those that came and were not received yet.
//
// Room is counted in bytes, ever, from 0 on. An origin knows what it has sent, and what of that its target has told to be received;
// it sends while the difference stays within packet_window. The target tells its sum with each packet that goes the other way,
// and by a message of its own (message_kind::room) when half of the window was received and not told. So
//  - the target's ring never overflows: received >= told >= what the origin knows, and packets come in order. A peer that sends
//    more breaks the protocol and loses its connection;
//  - an origin does not wait in vain: when all was received, less than half the window is untold, and the other half takes any packet;
//  - a sum that comes late is a smaller one, and sums only grow: a message of room that is under way when a packet tells more is
//    no harm.
//
// A packet lies in the ring in one piece at its position modulo packet_window; the ring has room for one more behind its end.
// The next one's place is behind the packet's end, modulo the window again: so the bytes behind the end belong to one packet at a
// time, and as no more than packet_window is ever outstanding, no two overlap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "core/base/round_up.h"
#include "core/transport/two_sided.h"
#include "providers/messages/rules.h"

namespace tutti::messages {

class inbox {
 public:
  static constexpr std::uint32_t room_of(std::size_t header, std::size_t payload) noexcept {
    return static_cast<std::uint32_t>(sizeof(lengths) + round_up(header, 8) + round_up(payload, 8));
  }
  static constexpr std::uint32_t largest = sizeof(std::uint64_t) + max_packet_bytes + 8;
  static constexpr std::uint32_t ring_bytes = packet_window + largest;

  bool reserve() noexcept {  // false: no memory
    if (!ring_) ring_.reset(new (std::nothrow) std::byte[ring_bytes]);
    return ring_ != nullptr;
  }
  bool empty() const noexcept { return received_ == arrived_; }
  bool takes(std::uint32_t room) const noexcept { return arrived_ - received_ + room <= packet_window; }
  void put(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept {  // reserved, and takes() it
    std::byte* at = ring_.get() + arrived_ % packet_window;
    const lengths l{static_cast<std::uint32_t>(header.size()), static_cast<std::uint32_t>(payload.size())};
    std::memcpy(at, &l, sizeof l);
    if (!header.empty()) std::memcpy(at + sizeof l, header.data(), header.size());
    if (!payload.empty()) std::memcpy(at + sizeof l + round_up(header.size(), 8), payload.data(), payload.size());
    arrived_ += room_of(header.size(), payload.size());
  }
  void front(two_sided::message& out) const noexcept {  // not empty
    const std::byte* at = ring_.get() + received_ % packet_window;
    lengths l;
    std::memcpy(&l, at, sizeof l);
    out.header = {at + sizeof l, l.header};
    out.payload = {at + sizeof l + round_up(l.header, 8), l.payload};
  }
  void pop(const two_sided::message& front) noexcept { received_ += room_of(front.header.size(), front.payload.size()); }

  std::uint64_t received() const noexcept { return received_; }
  void told(std::uint64_t received) noexcept { told_ = received; }
  bool has_to_tell() const noexcept { return received_ - told_ >= packet_window / 2; }

 private:
  struct lengths {
    std::uint32_t header, payload;
  };

  std::unique_ptr<std::byte[]> ring_;  // from the first packet on
  std::uint64_t arrived_ = 0, received_ = 0, told_ = 0;
};
static_assert(inbox::largest <= packet_window / 2);

// The other direction.
class outgoing_room {
 public:
  bool take(std::uint32_t room) noexcept {  // false: full
    if (sent_ - freed_ + room > packet_window) return false;
    sent_ += room;
    return true;
  }
  void give_back(std::uint32_t room) noexcept { sent_ -= room; }  // what was taken last, and not sent
  bool freed(std::uint64_t sum) noexcept {  // false: more than was sent, or less than was freed before
    if (sum > sent_ || sum < freed_) return false;
    freed_ = sum;
    return true;
  }

 private:
  std::uint64_t sent_ = 0, freed_ = 0;
};

}  // namespace tutti::messages
