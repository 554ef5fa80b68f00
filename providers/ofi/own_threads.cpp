#include "providers/ofi/own_threads.h"

#include <dirent.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace tutti::ofi {
namespace {

std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder{::opendir("/proc/self/task"), ::closedir};
  if (!folder) return found;
  while (const dirent* entry = ::readdir(folder.get()))
    if (const pid_t id = std::atoi(entry->d_name); id > 0) found.push_back(id);
  std::sort(found.begin(), found.end());
  return found;
}

// The kernel's name for the clock of a thread's processor time (clock_gettime(2)).
clockid_t clock_of(pid_t thread) noexcept { return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6u); }

}  // namespace

own_threads::own_threads() : others_(threads_of_this_process()) {}

std::chrono::nanoseconds own_threads::cpu_time() const {
  std::chrono::nanoseconds all{0};
  for (const pid_t id : threads_of_this_process()) {
    timespec used{};
    if (std::binary_search(others_.begin(), others_.end(), id) || ::clock_gettime(clock_of(id), &used) != 0) continue;
    all += std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
  }
  return all;
}

}  // namespace tutti::ofi
