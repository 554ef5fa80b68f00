// This rank's operations as they are taken: done at once where memory is mapped, begun by key, or handed on as messages
// (transport.h says which). Completions are told by whatever ends their frames.
#pragma once
#include "providers/messages/peer_table.h"

namespace tutti::messages {

class operations {
 public:
  operations(region_table& regions, frame_pool& frames, member_table& members, remote_access& keys, sender& out,
             peer_table& peers) noexcept
      : regions_(regions), frames_(frames), members_(members), keys_(keys), out_(out), peers_(peers) {}

  bool take(const rma_op&) noexcept;               // false: full
  bool flush(rank_t, completion*) noexcept;        // likewise
  member& view(segment_id id, rank_t rank) noexcept {
    member& m = members_.find(id, rank);
    return m.resolved || m.absent ? m : first_view(m, id, rank);
  }

 private:
  member& first_view(member&, segment_id, rank_t) noexcept;
  bool take_put(const rma_op&, peer&) noexcept;
  bool take_get(const rma_op&, peer&) noexcept;
  bool take_atomic(const rma_op&, peer&) noexcept;
  bool put_by_key(const rma_op&, peer&, const member* to, const member* word, const std::byte* source) noexcept;
  void say_put(frame&, const rma_op&, const member* to, const member* word, const std::byte* source, bool detour) noexcept;
  void ring(peer&) noexcept;                       // after a store into its memory

  region_table& regions_;
  frame_pool& frames_;
  member_table& members_;
  remote_access& keys_;
  sender& out_;
  peer_table& peers_;
};

}  // namespace tutti::messages
