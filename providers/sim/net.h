// The transport of one virtual rank. Its parts stand in memory.cpp, submit.cpp, progress.cpp, multicast.cpp and two_sided.cpp.
#pragma once
#include <set>

#include "core/transport/multicast.h"
#include "core/transport/offload.h"
#include "core/transport/two_sided.h"
#include "providers/common/segment_table.h"
#include "providers/sim/fabric.h"
#include "providers/sim/offload.h"

namespace tutti::sim {

class rank_transport;

class rank_multicast final : public multicast {
 public:
  explicit rank_multicast(rank_transport& owner) noexcept : owner_(owner) {}
  ~rank_multicast() override;
  limits query() const noexcept override;
  result<group_id> create(const rank_map&, std::vector<std::byte>& token, time_point) override;
  result<group_id> join(const rank_map&, std::span<const std::byte> token, time_point) override;
  bool send(group_id, std::uint32_t tag, std::span<const std::byte> payload) noexcept override;
  bool receive(group_id, datagram& out) noexcept override;
  void leave(group_id) noexcept override;
  bool take_in(std::uint32_t group, std::uint32_t record);  // false: not a member, or no room

 private:
  struct membership {
    std::uint32_t group;                       // 0: left
    std::uint32_t place = 0;                   // in the group's `joined`
    std::uint32_t current = ~0u;               // what `receive` last gave out
    std::deque<std::uint32_t> waiting;
  };
  membership* find(std::uint32_t group) noexcept;
  group_id enter(std::uint32_t group);
  rank_transport& owner_;
  std::vector<std::unique_ptr<membership>> memberships_;
};

class rank_two_sided final : public two_sided {
 public:
  explicit rank_two_sided(rank_transport& owner) noexcept : owner_(owner) {}
  ~rank_two_sided() override;
  limits query() const noexcept override;
  bool send(rank_t to, std::span<const std::byte> header, std::span<const std::byte> payload) noexcept override;
  bool receive(message& out) noexcept override;
  void take_in(std::uint32_t packet);
  void credited(rank_t target) noexcept { --flows_[target].under_way; }
  void show_arrived() noexcept { visible_ = arrived_.size() - first_; }
  bool refused() noexcept { return std::exchange(refused_, false); }  // and nothing will tell of room
  bool is_full(rank_t target) const noexcept;

 private:
  struct flow {
    std::uint32_t under_way = 0;               // taken, and not known to be received
    ns arrives = 0;                            // the last of them at the target's adapter
  };
  void release_held() noexcept;
  rank_transport& owner_;
  std::unordered_map<rank_t, flow> flows_;     // by target; for looking up only: no order
  std::vector<std::uint32_t> arrived_;         // from first_ on
  std::size_t first_ = 0;
  std::size_t visible_ = 0;                    // of these: receive() gives no others
  std::uint32_t held_ = ~0u;                   // what it gave last
  bool refused_ = false;
};

class rank_transport final : public transport {
 public:
  rank_transport(fabric&, rank_t);
  ~rank_transport() override;

  const capabilities& caps() const noexcept override { return f_.caps; }
  multicast* mcast() noexcept override { return f_.par.multicast ? &mcast_ : nullptr; }
  offload* offloader() noexcept override { return &offload_; }
  two_sided* sendrecv() noexcept override { return &two_sided_; }
  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs, time_point) override;
  bool reaches(rank_t r) const noexcept override { return r < f_.par.ranks; }
  result<region_id> add(std::span<std::byte>) override;
  result<region_id> allocate(std::size_t, std::span<std::byte>&) override;
  result<std::vector<std::byte>> key(region_id) override;
  result<segment_id> attach(const rank_map&, shared_blobs keys) override;
  void drop(segment_id) noexcept override;
  void drop(region_id) noexcept override;
  std::byte* map(segment_id, rank_t) noexcept override;

  std::size_t submit(std::span<const rma_op>) noexcept override;
  bool flush(rank_t, completion*) noexcept override;
  unsigned progress() noexcept override;

  armed arm() noexcept override;
  void sleep(armed, time_point) noexcept override;
  void disarm() noexcept override { armed_ = false; }
  time_point now() const noexcept override;
  status health(rank_t) noexcept override;
  void call_again_at(time_point t) noexcept { timer_ = to_ns(t); }  // while the world drives steps
  void keep(std::shared_ptr<void> owner) noexcept { keep_ = std::move(owner); }

 private:
  friend struct fabric;
  friend class rank_multicast;
  friend class rank_offload;
  friend class rank_two_sided;
  friend class world;

  struct region {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    std::shared_ptr<std::byte> allocated;  // by allocate()
  };
  struct flight {                              // taken, and not yet in effect at its target when that was last looked at
    rank_t target;
    std::uint32_t index;                       // of the message
    region_id region{};                        // of the signal's word
    std::uint64_t word = ~std::uint64_t{0};    // its offset; ~0: no signal
    ns visible;                                // not before this time
    std::uint64_t serial;
  };
  struct flushing {
    rank_t peer;
    std::uint64_t before;                      // waits for serials below this
    std::uint32_t remaining;
    completion* done;
    status error;
  };

  rank_state& me() const noexcept { return f_.ranks[rank_]; }
  std::byte* memory(region_id, std::uint64_t offset, std::uint64_t bytes) noexcept;  // null: dropped, or beyond its end
  std::byte* local_memory(region_id, std::uint64_t offset, std::uint64_t bytes) noexcept;
  far_memory* elsewhere() const noexcept { return extra_ ? extra_->memory : nullptr; }
  bool stands_still(std::size_t bytes) const noexcept { return elsewhere() && elsewhere()->stands_still(bytes); }
  // Of such memory.
  void read(const std::byte* from, void* to, std::size_t bytes) noexcept;
  void write(const void* from, std::byte* to, std::size_t bytes) noexcept;
  template <class Change>
  std::uint64_t change_word(std::byte*, Change) noexcept;  // what it was
  const segment* find(segment_id) const noexcept;
  result<region_id> put_region(region);
  bool resolve(segment_id, rank_t, std::uint64_t offset, std::uint64_t bytes, region_id&) const noexcept;
  status check(message&, std::uint64_t bytes) const noexcept;
  void take(const rma_op&) noexcept;
  void depart(std::uint32_t index, ns at) noexcept;
  void depart_next() noexcept;                 // of what is leaving
  bool is_inline(const rma_op&) const noexcept;  // its payload is taken at once
  bool is_over(const flight&) const noexcept;
  void forget_flights() noexcept;              // that are over
  ns reap() noexcept;
  void glance() const noexcept;
  bool refuse() noexcept;
  unsigned work() noexcept;
  void after_step() noexcept;                  // drive: when is this rank to be stepped again

  std::shared_ptr<void> keep_;                 // a world that lives as long as its only transport; destroyed last
  fabric& f_;
  const rank_t rank_;
  bool armed_ = false, refused_ = false;
  bool packets_came_ = false;                  // and two_sided_ is to show them
  mutable std::uint32_t glances_ = 0;          // at the clock or a peer's health, without doing anything else
  ns idle_since_ = 0, timer_ = never;
  std::vector<ending> ready_;                  // completions that progress() will tell
  std::vector<std::uint32_t> inbox_;           // target_must_progress: messages to perform
  std::uint64_t armed_at_ = 0, seen_ = 0;
  ns polled_at_ = 0;
  slot_table<region_id, region> regions_;
  slot_table<segment_id, std::shared_ptr<const segment>> segments_;
  std::map<std::pair<segment_id, rank_t>, std::shared_ptr<std::byte>> mapped_;  // peers' memory, kept as a mapping keeps it
  std::vector<flight> flights_;
  struct leaving {                             // on its way to the adapter that its node shares
    std::uint32_t index;
    ns at;
  };
  struct beyond_loggp {                        // what few worlds have; a pointer alone in the others
    std::vector<leaving> leaves;
    std::set<rank_t> connected;                // where connections cost time
    far_memory* memory = nullptr;              // of a rank whose memory is not this process's
    std::vector<ns> unreaped;                  // when completions are there that the processor will pay for
  };
  std::unique_ptr<beyond_loggp> extra_;
  std::vector<flushing> flushes_;
  std::vector<std::pair<rank_t, status>> errors_;  // of operations that named no completion
  rank_multicast mcast_;
  rank_offload offload_;
  rank_two_sided two_sided_;
};

class rank_bootstrap final : public bootstrap {
 public:
  rank_bootstrap(fabric& f, rank_t rank) noexcept : f_(f), rank_(rank) {}
  rank_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return f_.par.ranks; }
  const std::string& job_id() const noexcept override { return f_.job; }
  host_id host() const noexcept override;
  result<shared_blobs> allgather(std::span<const std::byte>, time_point) override;
  std::shared_ptr<fabric::gathering> give(std::span<const std::byte>);

 private:
  fabric& f_;
  const rank_t rank_;
  std::uint32_t round_ = 0;
};

}  // namespace tutti::sim
