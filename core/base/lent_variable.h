// A variable that stands in the environment for a while, which a vendor's library reads as it is loaded. setenv() may move or
// free what another thread's getenv() reads. Here a larger copy of the environment takes its place for good, with the variable
// at its end, and the old one is never freed; so a thread that reads meanwhile reads one or the other, and what another thread
// sets stays set. The end takes the variable out of whatever is the environment then. One at a time, since two copies would
// overwrite each other.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace tutti {

class lent_variable {
 public:
  explicit lent_variable(const char* setting) : lock_{one_at_a_time} {
    const std::string name{setting, std::strcspn(setting, "=")};
    if (std::getenv(name.c_str())) return;
    std::size_t count = 0;
    while (environ && environ[count]) ++count;
    char** const larger = new char*[count + 2];
    std::copy_n(environ, count, larger);
    larger[count] = setting_ = const_cast<char*>(setting);
    larger[count + 1] = nullptr;
    std::atomic_ref{environ}.store(larger, std::memory_order_release);
  }
  ~lent_variable() {
    if (!setting_) return;
    char** at = environ;
    while (*at && *at != setting_) ++at;
    for (; *at; ++at) std::atomic_ref{*at}.store(at[1], std::memory_order_release);
  }
  lent_variable(const lent_variable&) = delete;
  lent_variable& operator=(const lent_variable&) = delete;

 private:
  static inline std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock_;
  char* setting_ = nullptr;  // as long as it is lent
};

}  // namespace tutti
