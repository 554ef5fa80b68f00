// The ranks of a job as processes: started together, signalled together, reaped in the order of their deaths.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "tools/run/death.h"
#include "tools/run/guardian.h"
#include "tools/run/job.h"
#include "tools/run/machine.h"
#include "tools/run/pmix_server.h"
#include "tools/run/rank_process.h"

namespace tutti::launching {

class rank_group {
 public:
  explicit rank_group(guardian& g) : guardian_(g) {}
  // Stops at the first that does not start; `unavailable` if the program cannot run, native() is then execve's errno.
  status start(const job_options&, const std::optional<rlimit>& file_limit, const machine&, pmix_server&, int input_of_rank_0,
               const std::function<result<rank_output>(rank_t)>&);
  rank_process& operator[](rank_t r) { return ranks_[r]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }  // that were started
  std::uint32_t living() const noexcept { return living_; }
  bool lives(rank_t r) const noexcept { return r < size() && static_cast<bool>(ranks_[r].pidfd); }
  std::vector<rank_t> living_ranks() const;
  void signal_all(int number) const noexcept;  // everything in the process groups of living ranks
  int fd() const noexcept { return deaths_.get(); }  // readable when next_death() has one

  struct ended {
    rank_t rank;
    death how;
  };
  // In the order of the deaths themselves. Call kill_group_of() before the next.
  std::optional<ended> next_death();
  void kill_group_of(const ended&);  // kills what a failed rank leaves running in its process group

 private:
  guardian& guardian_;
  std::vector<rank_process> ranks_;
  std::uint32_t living_ = 0;
  unique_fd deaths_;
};

}  // namespace tutti::launching
