// Threads that a library has started, found as those that this process did not have before; and what they cost.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <vector>

namespace tutti::ofi {

class own_threads {
 public:
  own_threads();                              // those that are here already are not meant
  std::chrono::nanoseconds cpu_time() const;  // of all of them, since each began

 private:
  std::vector<pid_t> others_;                 // sorted
};

}  // namespace tutti::ofi
