// Ranks of a simulated machine that send each other messages in one of the three designs (messaging/design.h), a thread each.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/job/window.h"
#include "messaging/messages.h"
#include "tools/papers/lab.h"

namespace tutti::tools::papers {

struct one_sided_op {
  bool get;
  std::uint64_t bytes;
};

class message_rank {
 public:
  // `memory`: of the window that each rank exposes, and of what it sends.
  // `one_at_a_time`: a send that does not complete early holds up all behind it, as below MPICH2's CH3 (Huang 2005, 3.1).
  message_rank(sim::world&, rank_t, const std::string& design, std::uint64_t memory, bool one_at_a_time = false);

  std::uint32_t me() const noexcept { return rank_; }
  void compute(double us) { world_.compute(rank_, us); }
  // Blocking.
  void send(std::uint32_t to, std::uint64_t tag, std::uint64_t bytes);
  void receive(std::uint32_t from, std::uint64_t tag, std::uint64_t bytes);
  void exchange(std::uint32_t to, std::uint32_t from, std::uint64_t bytes);
  // Several at once: begin(), any of these, complete().
  void start_send(std::uint32_t to, std::uint64_t tag, std::uint64_t bytes);
  void start_receive(std::uint32_t from, std::uint64_t tag, std::uint64_t bytes);
  void complete();

  // One-sided operations upon the other of two ranks, with an end of which the target knows: straight into its window, or made of
  // messages, as MPICH2's channel and CH3 make them (Huang 2005, 4.2): the origin performs, the target serves.
  void perform_directly(const std::vector<one_sided_op>&);
  void await_direct();
  void perform_by_messages(const std::vector<one_sided_op>&);
  void serve_by_messages();

  // Microseconds of one of `times` calls, after one that does not count, until the last rank is through.
  double time(int times, const std::function<void()>& call);
  // Until all ranks are here: nobody leaves while others need it.
  void stay();

 private:
  completion& next();

  sim::world& world_;
  const rank_t rank_;
  const bool one_at_a_time_;
  std::unique_ptr<job> job_;
  std::unique_ptr<messaging::messages> messages_;
  std::vector<std::byte> out_, in_;
  std::vector<std::byte> heads_;  // which data that come later must not overwrite
  std::unique_ptr<window> window_;
  std::deque<completion> under_way_;
  std::uint64_t turn_ = 0, awaited_ = 0;
};

// Runs this in every rank of the machine; throws std::runtime_error.
void run_message_ranks(const machine&, std::uint32_t ranks, const std::string& design, std::uint64_t memory,
                       const std::function<void(message_rank&)>&, bool one_at_a_time = false);

}  // namespace tutti::tools::papers
