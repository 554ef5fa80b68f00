// The work requests of this rank, to all peers: posted to a queue pair, on record until they end, and told to whoever waits.
#pragma once
#include "providers/verbs/bounce_buffers.h"
#include "providers/verbs/peer.h"

namespace tutti::verbs {

inline constexpr std::uint32_t kept_for_rings = 3;    // of a queue: announce, confirm, bye, each at most once under way
static_assert(most_slices <= bounce_count, "a get into as many pieces of unregistered memory as it may name");
class swap_table;
class packets;

class requests {
 public:
  requests(region_table& regions, bounce_buffers& bounce, swap_table& swaps, packets& two_sided) noexcept
      : regions_(regions), bounce_(bounce), swaps_(swaps), packets_(two_sided) {}
  void open(rank_t self) noexcept { self_ = self; }

  bool has_room(const peer& p, std::uint32_t more) const noexcept {
    return p.out.room() >= more + kept_for_rings && has_room_for(more);
  }
  bool has_room_for(std::uint32_t all) const noexcept { return in_flight_ + all <= total_depth; }
  std::uint32_t draining() const noexcept { return draining_; }  // peers whose queue pair is in error
  // Takes over the completion that what[...].done names. What cannot even be posted ends like what fails later.
  void post(peer&, std::span<ibv_send_wr>, std::span<const posted>) noexcept;
  bool ring(peer&, ring_kind) noexcept;            // false: full
  void probe(peer&) noexcept;                      // does its adapter still answer?

  void finish(peer& p, const posted& what, const status& outcome) noexcept {  // of a record
    --in_flight_;
    use(what, -1);
    const bool simple = what.kind == work::write || what.kind == work::read;
    if (!simple || what.index || outcome.failed()) return ended(p, what, outcome);
    if (what.done) what.done->finish();
  }
  // Its queue pair is in error: nothing is posted to it any more. The adapter completes what is in flight with "flushed", and
  // all of it has ended when drained() is called.
  void fail(peer&, status why) noexcept;
  void drained(peer&) noexcept;
  void use(const posted& what, int how) noexcept {  // counts in the regions that it names
    regions_.use(what.local, how);
    for (unsigned i = 0; i < what.slices; ++i) regions_.use(what.scatter[i].local, how);
  }

 private:
  void ended(peer&, const posted&, const status&) noexcept;

  region_table& regions_;
  bounce_buffers& bounce_;
  swap_table& swaps_;
  packets& packets_;
  rank_t self_ = 0;
  std::uint32_t in_flight_ = 0;
  std::uint32_t draining_ = 0;
};

// A request that makes the peer look: an empty write with an immediate.
inline void make_ring_request(ibv_send_wr& wr, ring_kind kind, rank_t self) noexcept {
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.imm_data = __builtin_bswap32(make_ring(kind, self));
  wr.send_flags = IBV_SEND_SOLICITED;
}

}  // namespace tutti::verbs
