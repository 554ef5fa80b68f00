// How much of the cores that they share the processes of a job have had: whether a rank that lost its core for long lost it to
// ranks that had something to compute, or to another program.
#pragma once
#include <chrono>
#include <cstdint>
#include <ctime>
#include <vector>

#include "core/base/time_point.h"

namespace tutti {

// A process, as others that see the same process ids may look at it.
struct process_name {
  std::int64_t pid = 0;
  std::uint64_t space = 0;  // of process ids; 0: unknown

  static process_name own() noexcept;
  friend bool operator==(const process_name&, const process_name&) = default;
};

class cpu_share {
 public:
  cpu_share() = default;
  // `all` of this node's ranks, this one among them. If it cannot look at all of them, it always answers no.
  cpu_share(std::vector<process_name> all, std::uint32_t cores);

  // Whether the processes had all of their cores but half of one at most, since the last call; true also where that was more than
  // a second ago: what another program takes so seldom does no harm. Costs a system call for each process.
  bool had_all(time_point now) noexcept;

 private:
  std::vector<clockid_t> clocks_;
  double cores_ = 0;
  time_point looked_{};
  std::chrono::nanoseconds spent_{};
};

}  // namespace tutti
