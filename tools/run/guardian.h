// What is left to do when the launcher is killed without a chance to do it.
#pragma once
#include <sys/types.h>

#include <string>

#include "core/base/status.h"
#include "core/base/unique_fd.h"

namespace tutti::launching {

// A process that waits for the launcher's end and then kills the process groups that it was given and removes a
// folder. The kernel kills the ranks themselves (PR_SET_PDEATHSIG); this one finds what they started in turn.
class guardian {
 public:
  guardian() = default;
  guardian(const guardian&) = delete;
  guardian& operator=(const guardian&) = delete;
  ~guardian();  // waits for its end, after which the folder is gone
  // Before any thread begins, and before descriptors are opened that it should not hold.
  status start(const std::string& folder);
  void watch(pid_t group) noexcept { tell(group); }
  void forget(pid_t group) noexcept { tell(-group); }  // while the pid is still the group's own

 private:
  void tell(pid_t what) noexcept;
  pid_t pid_ = -1;
  unique_fd line_;
};

}  // namespace tutti::launching
