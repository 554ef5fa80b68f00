// What comes in: whose a message is and whether it is whole, messages applied as they come, answers on their way back.
#pragma once
#include "providers/messages/packets.h"

namespace tutti::messages {

class inbound {
 public:
  inbound(const link_traits& traits, region_table& regions, frame_pool& frames, responder& answers, sender& out, worklist& due,
          peer_table& peers, packets& two_sided) noexcept
      : traits_(traits), regions_(regions), frames_(frames), answers_(answers), out_(out), due_(due), peers_(peers),
        packets_(two_sided) {}
  void open(const open_params& p) { self_ = p.rank, size_ = p.size, key_ = p.key, notice_ = p.notice; }

  // True: a message of a peer came. The memory may be reused afterwards.
  bool receive(std::span<const std::byte> header, std::span<const std::byte> payload) noexcept;
  // Messages that were dropped before they could change anything: without proof of a rank of this job, or repeated.
  std::uint64_t rejected() const noexcept { return rejected_; }

 private:
  bool authentic(const message&, std::span<const std::byte> payload) const noexcept;
  void tell_of_outsiders(rank_t said) noexcept;
  void take(peer&, const message&, std::span<const std::byte> payload) noexcept;
  void serve(peer&, const message&, bool reachable) noexcept;
  void take_answer(peer&, const message&, std::span<const std::byte> payload) noexcept;

  const link_traits& traits_;
  region_table& regions_;
  frame_pool& frames_;
  responder& answers_;
  sender& out_;
  worklist& due_;
  peer_table& peers_;
  packets& packets_;
  rank_t self_ = 0;
  std::uint32_t size_ = 1;
  siphash_key key_{};            // of the job
  notice_fn notice_;             // of the first message without proof
  std::uint64_t rejected_ = 0;
};

}  // namespace tutti::messages
