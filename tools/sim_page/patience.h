// A line on standard error of what takes longer than two seconds: how much of it is done, and how long it will take. For people, so only on
// a terminal.
#pragma once
#include <algorithm>
#include <memory>

#include "tools/perf/status_line.h"

namespace tutti::tools {

class patience {
 public:
  explicit patience(std::string what) : what_(std::move(what)), line_(std::make_shared<status_line>(isatty(2) != 0)) {}

  // `part`: that is done, 0 to 1.
  void operator()(double part) {
    if (!due()) return;
    constexpr int width = 30;
    const int full = std::clamp(static_cast<int>(part * width), 0, width);
    const double left = part > 0 ? std::chrono::duration<double>(now() - began_).count() * (1 - part) / part : 0;
    char text[200];
    std::snprintf(text, sizeof text, "%s [%.*s%.*s] %3.0f %%, %.0f s left", what_.c_str(), full, "##############################", width - full,
                  "..............................", 100 * part, left);
    line_->show(text);
  }
  // Of what has no end that is known before: `so_far` makes a text.
  template <class Text>
  void tell(Text so_far) {
    if (due()) line_->show(what_ + ": " + so_far());
  }

 private:
  static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }
  bool due() {
    if (now() - began_ < std::chrono::seconds(2) || now() < next_) return false;
    next_ = now() + std::chrono::milliseconds(200);
    return true;
  }

  std::string what_;
  std::shared_ptr<status_line> line_;  // copies are of one line
  std::chrono::steady_clock::time_point began_ = now(), next_{};
};

}  // namespace tutti::tools
