// A decorator for tests: it makes rare what is legal happen often. Everything it does, a fabric may do by the contract,
// so whatever runs correctly upon the transport below must run correctly upon this one. Seeded: same seed and same
// calls, same faults.
#pragma once
#include <memory>
#include <random>

#include "core/transport/forwarding_transport.h"
#include "core/transport/multicast.h"

namespace tutti {

struct fault_plan {
  std::uint64_t seed = 1;
  // Chances, 0 to 1. Runs of refusals and of idle progress are bounded (by `patience`), so that waiting always ends.
  double refuse = 0;        // of a submit() to take only a random part, and of a flush() or a message to be refused
  double idle = 0;          // of a progress() to do nothing, and of a receive() to see no message before the next
  double lose = 0;          // of a received datagram to be lost
  double repeat = 0;        // to be delivered twice
  double reorder = 0;       // to be delivered after later ones
  unsigned patience = 16;
  // The number, from 1, of the set-up call that fails without reaching the transport below: address, connect, add,
  // allocate, key, attach, and a group's create and join. 0: none. Run with 1, 2, 3... until a run sees no failure.
  unsigned fail_setup = 0;
  // The number, from 1, of the operation with a completion that fails and does nothing. 0: none.
  unsigned fail_operation = 0;
};

// Shared by the decorator and its multicast.
class fault_dice {
 public:
  explicit fault_dice(const fault_plan& p) : plan{p}, random_{p.seed} {}
  bool roll(double chance) noexcept;             // true: a fault, counted
  bool roll(double chance, unsigned& in_a_row) noexcept;  // at most `patience` of them in a row
  std::size_t below(std::size_t n) noexcept { return static_cast<std::size_t>(random_() % n); }
  status setup_call(const char* name);           // the forced failure, if it is this one's turn
  const fault_plan plan;
  unsigned faults = 0, setup_calls = 0;

 private:
  std::mt19937_64 random_;
};

class faulty_multicast;
class faulty_two_sided;

class fault_transport final : public forwarding_transport {
 public:
  fault_transport(std::unique_ptr<transport> inner, const fault_plan& plan);
  ~fault_transport() override;

  unsigned setup_calls() const noexcept { return dice_.setup_calls; }  // so far
  unsigned faults() const noexcept { return dice_.faults; }  // refusals, idle turns, datagrams that did not go straight

  multicast* mcast() noexcept override;
  two_sided* sendrecv() noexcept override;
  result<std::vector<std::byte>> address() override;
  status connect(shared_blobs addresses, time_point deadline) override;
  result<region_id> add(std::span<std::byte> memory) override;
  result<region_id> add_unowned(std::span<std::byte> memory) override;
  result<region_id> allocate(std::size_t bytes, std::span<std::byte>& memory) override;
  result<std::vector<std::byte>> key(region_id) override;
  result<segment_id> attach(const rank_map& members, shared_blobs keys) override;
  [[nodiscard]] std::size_t submit(std::span<const rma_op> ops) noexcept override;
  [[nodiscard]] bool flush(rank_t peer, completion* done) noexcept override;
  unsigned progress() noexcept override;
  armed arm() noexcept override;
  bool arm_fd() noexcept override;

 private:
  bool may_arm() noexcept;
  std::size_t submit_but_one(std::span<const rma_op> ops) noexcept;

  fault_dice dice_;
  std::unique_ptr<faulty_multicast> multicast_;
  std::unique_ptr<faulty_two_sided> two_sided_;
  unsigned refused_ = 0, flushes_refused_ = 0, idle_ = 0;  // in a row
  unsigned operations_ = 0;  // with a completion, that were taken
};

}  // namespace tutti
