// The transport contract upon raw verbs: one RC queue pair for each pair of ranks that talk, opened by the first
// operation (connection_manager.h), and UD multicast (multicast.h). The design is that of Kini 2003, section 5, widened.
//
// What a rank holds, with P peers that it has talked to, or they to it (itself counts, if it talked to itself), of n ranks,
// R regions, S segments of m members and G multicast groups; an adapter with lower limits gives less. tests/verbs counts it.
//   queue pairs   P (RC) + 1 (UD, the connection manager's) + G (UD)
//   requests      128 P + 64 + 16 G that may be under way; Q + 256 + 128 G receives; 6976 + Q entries of completion queues;
//                 Q: 256 + 8 n, the latter up to a multiple of 64; at most 4096
//   registered    the regions + 1060 KiB + 581 KiB G; 512 KiB of buffers once unregistered memory needs one, and what up to 64
//                 larger operations upon unregistered memory move while they are under way (bounce_buffers.h). Of two-sided
//                 messages: 4 KiB for each rank that they were sent to, and 256 KiB; and 32 KiB for each that they came from,
//                 of the first (Q - 256) / 8; each of the two up to a multiple of 256 KiB (packets.h). Registered memory is
//                 locked: memlock must allow for that and, with what the adapter's driver keeps for each queue, about a
//                 MiB besides
//   memory        P * (128 * (24 + the adapter's size of a request: some 600 bytes) + 700) bytes, and 10 KiB more for each
//                 peer that is being connected; 16 n + 32 S m + 48 R + 12 Q bytes; and half a MiB, upon what is registered
//   one thread, asleep (connection_manager.h), and 10 descriptors + 1 for each peer on the same host + G, and 1 for each peer that is
//                 being met and has not answered for a tenth of a second (connection_calls.cpp)
// So a barrier by dissemination costs each of 16 ranks 7 queue pairs: those 1, 2, 4 and 8 further and before, where 8 further
// is 8 before.
//
// Way of an operation. submit() turns it into one to three work requests on its peer's queue pair: the payload, the
// signal behind it, and a bell where a signal or atomic cannot bring one itself. It is done when the last of them is,
// except that a put of up to max_inline bytes is copied into the request and is done at once; should it fail later, the
// next flush of that peer tells. Small puts and signals therefore need no completion entry but one in 32
// (send_queue.h). Local memory that no region is named for: bounce_buffers.h.
//
// Order (clause 5). An RC queue pair executes its requests at the target in the order in which they were posted, so a
// signal is simply an 8-byte RDMA write behind the payload, an added one an atomic; both orders of the contract are
// kept alike. Three things remain.
// - An adapter hands what it writes to PCIe, which keeps posted writes in order unless they bear the mark of relaxed
//   ordering. Regions do not, by default. With `relaxed` payloads do and words do not, and a write without the mark
//   passes none that was before it, marked or not (PCIe 2.4.1): see regions.h.
// - A read may be executed again if its answer was lost, and then sees later writes. A signal that must be behind
//   everything is therefore fenced if a read is in flight: it waits for the answer.
// - A swap, which verbs do not have, is a compare_swap tried until it succeeds; while one is under way, signals that
//   must be behind everything, and flushes, are refused (clause 2: full).
//
// Flush (clause 4). That a write was acknowledged says that it is in the target's adapter, not that the target's CPU
// sees it. A read of 8 bytes behind it says that: the adapter fetches them from memory, and a read on PCIe pushes what
// was posted before it.
//
// Sleep (clause 9). A plain RDMA write wakes nobody, and to have all signals wake would take a receive from the target
// for each, needed or not. So signals are plain until a rank sleeps for the first time. It then tells its peers
// (ring_kind::announce), who from then on write signals to it with an immediate, which makes an entry in the completion
// queue that it waits for; and atomics, which have none, with an empty write behind them. The gap is signals that were
// posted before the peer heard and are executed after the sleeper has looked: the peer answers with `confirm`, on the
// same queue pair, hence behind them; until all have answered no sleep is longer than a nap. Ranks that never sleep
// never pay.
//
// Two-sided messages are SENDs on the same queue pairs, into buffers of a shared receive queue: packets.h, receiver.h.
//
// Errors. A request that fails puts its queue pair in error, and those behind it are flushed. The failed one is ended
// with its own error, the flushed ones with broken_connection(), and the connection is made anew by the next
// operation, unless the peer is dead. Retries are finite, see death.h.
//
// Atomics are those of the adapter. Most make them atomic towards each other only (IBV_ATOMIC_HCA), not towards the
// CPU: then cpu_atomics_agree is false. An adapter orders its atomics with those that other queue pairs of it execute,
// so a rank's own atomics upon its own memory go through the adapter too, by a queue pair connected to itself.
#pragma once
#include <array>
#include <chrono>
#pragma once
#include <memory>

#include "core/transport/multicast.h"
#include "core/transport/two_sided.h"
#include "providers/verbs/multicast.h"
#include "providers/verbs/operations.h"

namespace tutti::verbs {

class verbs_transport final : public transport {
 public:
  static result<std::unique_ptr<transport>> open(const open_params&);
  ~verbs_transport() override;

  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override { return multicast_.get(); }
  two_sided* sendrecv() noexcept override { return &two_sided_; }
  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs, time_point) override;
  bool reaches(rank_t) const noexcept override;

  result<region_id> add(std::span<std::byte> memory) override { return regions_.add(memory); }
  result<region_id> add_unowned(std::span<std::byte> memory) override;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override { return regions_.allocate(bytes, memory); }
  result<std::vector<std::byte>> key(region_id id) override { return regions_.key(id); }
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override { return ops_.attach(members, std::move(keys), size_); }
  void drop(segment_id id) noexcept override { ops_.drop(id); }
  void drop(region_id) noexcept override;
  std::byte* map(segment_id, rank_t) noexcept override;

  std::size_t submit(std::span<const rma_op>) noexcept override;
  bool flush(rank_t, completion*) noexcept override;
  unsigned progress() noexcept override;

  armed arm() noexcept override { return armed_if(arm_all()); }
  void sleep(armed, time_point) noexcept override;
  bool arm_fd() noexcept override;
  int wait_fd() noexcept override { return sleep_.fd(); }
  void disarm() noexcept override { sleep_.disarm(); }
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  status health(rank_t) noexcept override;

 private:
  verbs_transport() = default;
  status start(const open_params&);
  void say_goodbye() noexcept;
  bool arm_all() noexcept;

  class two_sided_calls final : public two_sided {
   public:
    explicit two_sided_calls(verbs_transport& t) noexcept : t_(t) {}
    limits query() const noexcept override { return packets::limits(); }
    bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
    bool receive(message& out) noexcept override { return t_.packets_.receive(out); }

   private:
    verbs_transport& t_;
  };

  capabilities caps_;
  rank_t rank_ = 0;
  std::uint32_t size_ = 1;
  sleeper sleep_;                                 // upon the endpoint's channel and notices
  region_table regions_;
  endpoint end_{regions_};
  bounce_buffers bounce_;
  swap_table swaps_{out_, bounce_};
  requests out_{regions_, bounce_, swaps_, packets_};
  packets packets_{end_, out_};
  backlogs waiting_{regions_};
  peer_table peers_{end_, out_, waiting_, packets_};
  operations ops_{regions_, bounce_, end_, out_, swaps_, waiting_, peers_};
  two_sided_calls two_sided_{*this};
  std::unique_ptr<verbs_multicast> multicast_;    // null: this adapter has none, or some rank's
};

}  // namespace tutti::verbs
