#include "core/base/cpu_share.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace tutti {

process_name process_name::own() noexcept {
  struct stat about{};
  return {getpid(), stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0};
}

cpu_share::cpu_share(std::vector<process_name> all, std::uint32_t cores) : cores_(cores) {
  const process_name own = process_name::own();
  std::ranges::sort(all, {}, &process_name::pid);
  all.erase(std::unique(all.begin(), all.end()), all.end());  // ranks that are threads of one process
  for (const process_name& p : all) {
    clockid_t clock{};
    if (own.space == 0 || p.space != own.space || clock_getcpuclockid(static_cast<pid_t>(p.pid), &clock) != 0) {
      clocks_.clear();
      return;
    }
    clocks_.push_back(clock);
  }
}

bool cpu_share::had_all(time_point now) noexcept {
  if (clocks_.empty()) return false;
  std::chrono::nanoseconds spent{};
  for (const clockid_t c : clocks_) {
    timespec t{};
    if (clock_gettime(c, &t) == 0) spent += std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  }
  const auto passed = now - looked_, had = spent - spent_;
  looked_ = now, spent_ = spent;
  if (passed > std::chrono::seconds(1)) return true;
  return static_cast<double>(had.count()) >= (cores_ - 0.5) * static_cast<double>(passed.count());
}

}  // namespace tutti
