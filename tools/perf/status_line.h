// What a long measurement is at, on standard error: on a terminal one line that is written over, elsewhere, in a log say, a line
// now and then.
#pragma once
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace tutti::tools {

class status_line {
 public:
  explicit status_line(bool wanted) : wanted_(wanted), terminal_(isatty(2) != 0) {}
  ~status_line() { clear(); }
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;

  void show(const std::string& text) {
    if (!wanted_) return;
    if (terminal_) {
      std::fprintf(stderr, "\r\033[K%s", text.c_str());
    } else if (const auto now = std::chrono::steady_clock::now(); now >= next_) {
      std::fprintf(stderr, "%s\n", text.c_str());
      next_ = now + std::chrono::seconds(4);
    }
  }
  void clear() {
    if (wanted_ && terminal_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  bool wanted_, terminal_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace tutti::tools
