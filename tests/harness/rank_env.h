// What one rank of a test has: its transport, open and connected, a way to meet the others out of band, and waits that
// follow the contract and tell the watchdog what they wait for.
#pragma once
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/job/bootstrap.h"
#include "core/transport/transport.h"
#include "tests/harness/expect.h"
#include "tests/harness/meeting.h"
#include "tests/harness/ops.h"
#include "tests/harness/resources.h"

namespace tutti::test {

// One region of each member, attached by everyone.
struct area {
  std::span<std::byte> memory;  // mine; empty for a rank that is no member
  region_id region{};
  segment_id segment{};

  std::uint64_t* word(std::size_t offset = 0) const noexcept {
    return reinterpret_cast<std::uint64_t*>(memory.data() + offset);
  }
  far_place at(rank_t rank, std::uint64_t offset = 0) const noexcept { return {rank, segment, offset}; }
  near_place mine(std::uint64_t offset = 0) const noexcept { return {region, offset}; }
};

inline std::uint64_t load(const std::uint64_t* word) noexcept {
  return std::atomic_ref<const std::uint64_t>{*word}.load(std::memory_order_acquire);
}

class rank_env {
  meeting& meeting_;
  std::unique_ptr<bootstrap> own_boot_;

 public:
  rank_env(meeting&, rank_t, std::uint64_t seed, std::chrono::nanoseconds time_limit);

  const rank_t rank;
  const std::uint32_t size;
  const std::uint64_t seed;         // the same in all ranks
  std::mt19937_64 random;           // of this rank's own: differs from rank to rank
  bootstrap& boot;
  bool own_process = true;          // false: ranks are threads or fibers of one process
  resources before;                 // what this process held before the transport was opened

  transport& net() noexcept { return *net_; }
  void open(std::unique_ptr<transport>);  // exchanges addresses and connects
  // Puts a decorator around the open transport.
  void wrap(const std::function<std::unique_ptr<transport>(std::unique_ptr<transport>)>& f) { net_ = f(std::move(net_)); }
  void close() noexcept { net_.reset(); } // destroys the transport: peers will see that this rank left
  bool is_open() const noexcept { return net_ != nullptr; }

  // --- out of band; drives the transport meanwhile, so that peers' operations upon this rank go on -----------------
  shared_blobs exchange(std::span<const std::byte> mine);
  std::uint64_t sum(std::uint64_t mine);  // over all ranks
  void barrier() { exchange({}); }
  void barrier_without_progress();       // this rank computes meanwhile, as it were: nothing of its transport is called

  // --- memory: every rank calls these in the same order -------------------------------------------------------------
  area allocate(std::size_t bytes) { return allocate(bytes, rank_map::strided(0, size)); }
  area allocate(std::size_t bytes, const rank_map& members);
  area add(std::span<std::byte> memory) { return add(memory, rank_map::strided(0, size)); }
  area add(std::span<std::byte> memory, const rank_map& members);
  segment_id attach(const rank_map& members, region_id mine);
  void drop(area&) noexcept;

  // --- operations ---------------------------------------------------------------------------------------------------
  void submit(std::span<const rma_op>);             // all of them, driving progress while the queue is full
  void submit(const rma_op& op) { submit(std::span{&op, 1}); }
  void wait(completion&, where = where::current());  // until idle; it must be a success
  void wait_idle(completion&);                       // until idle, with whatever outcome
  void flush(rank_t peer = no_rank, where = where::current());
  void run(const rma_op&, where = where::current()); // submit and wait for local completion

  // --- waiting --------------------------------------------------------------------------------------------------------
  // Until a signalled word has reached the value. Sleeps as long as the contract allows, so that a wake-up that is
  // lost ends in the watchdog rather than in a delay that nobody sees.
  void wait_word(const std::uint64_t* word, std::uint64_t value);
  // The same for any condition that something which arrives by clause 9 makes true.
  void until_arrival(std::string_view what, const std::function<bool()>& holds);
  // For conditions that wake nobody, like the bytes of a plain put: looks again every millisecond at the latest.
  void until(std::string_view what, const std::function<bool()>& holds);
  // Let time pass (the fabric's), driving progress.
  void pause(std::chrono::nanoseconds);
  void progress_for_a_moment();  // some turns of progress, yielding to the others

  [[noreturn]] void die();      // as by SIGKILL; the case must declare it

  // For ranks that are no processes: how one dies, and how one lets time pass without its transport.
  std::function<void()> on_death{}, pass_time{};

  meeting& place() noexcept { return meeting_; }

 private:
  void wait_until(std::string_view what, const std::function<bool()>& holds, std::chrono::nanoseconds longest_sleep);
  area share(area, const rank_map&);

  std::chrono::nanoseconds time_limit_;
  time_point give_up_{};
  std::unique_ptr<transport> net_;
};

}  // namespace tutti::test
