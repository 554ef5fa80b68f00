// Two-sided messages: what a rank sends, and what it was sent by all (inbox.h tells of room and order between two).
//
// What is taken is copied into a frame and queued behind whatever goes to that peer: the link may be full for a while, but the
// frames are those of the pool, and a peer that reads nothing holds no more of them than its window and queue_limit allow. What comes
// is copied into its origin's ring. Origins with packets wait in a line; receive() serves the first and sends it to the line's end.
#pragma once
#include "providers/messages/peer_table.h"

namespace tutti::messages {

class packets {
 public:
  packets(const link_traits& traits, frame_pool& frames, sender& out, peer_table& peers) noexcept
      : traits_(traits), frames_(frames), out_(out), peers_(peers) {}
  void open(rank_t self) noexcept { self_ = self; }

  bool fit() const noexcept { return traits_.piece_bytes >= least_bytes; }  // in one message of this link; else there are none
  two_sided::limits limits() const noexcept;
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  bool receive(two_sided::message&) noexcept;
  bool holds_one() const noexcept { return held_by_ != nullptr; }  // in the caller's hands

  // What a peer says.
  void arrive(peer&, const message&, std::span<const std::byte> payload) noexcept;
  void room(peer&, std::uint64_t received) noexcept;

 private:
  static constexpr std::uint32_t least_bytes = max_packet_header + 1024;
  void put(peer&, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  void wait_in_line(peer&) noexcept;
  void release_held() noexcept;
  void refuse(peer&, const char* what) noexcept;

  const link_traits& traits_;
  frame_pool& frames_;
  sender& out_;
  peer_table& peers_;
  rank_t self_ = 0;
  peer* first_ = nullptr;      // of the line
  peer* last_ = nullptr;
  peer* held_by_ = nullptr;    // whose packet the caller has
  two_sided::message held_;
};

}  // namespace tutti::messages
