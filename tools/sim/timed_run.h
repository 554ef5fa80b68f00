// What the operations of a virtual job take, one after the other.
#pragma once
#include <vector>

#include "tools/sim/figures.h"
#include "tools/sim/virtual_job.h"

namespace tutti::tools {

class timed_run {
 public:
  // The first operation begins at `start` in all ranks. What the world does from now on is counted. Both outlive it.
  timed_run(const sim::world& w, std::uint64_t epochs, time_point start, const progress_fn& progress);
  timed_run(const timed_run&) = delete;
  timed_run& operator=(const timed_run&) = delete;

  void watch(virtual_job::script&);
  // Of one of `done` operations: times, messages and payload; and the busiest link. Once.
  sim_figures figures(std::uint64_t done);
  std::size_t memory() const noexcept { return samples_.capacity() * sizeof samples_[0]; }  // bytes of its samples

 private:
  const sim::world& world_;
  const progress_fn& progress_;
  const std::uint64_t epochs_;
  const sim::statistics before_;
  const time_point start_;
  time_point end_, first_;             // when the last rank had left all, and the first one
  std::vector<time_point> entered_;    // by rank
  std::vector<float> samples_;         // us
};

}  // namespace tutti::tools
