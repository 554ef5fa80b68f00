// What the ranks write, put together so that lines stay whole.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tutti::launching {

// One stream of one rank on its way to an outlet: holds the line that is not complete yet.
struct line_buffer {
  std::string tag;          // before each line, "" for none
  bool alone = false;       // nobody else writes: pass everything on at once, prompts too
  std::string partial;
};

// The launcher's own stdout or stderr. Never blocks: what the reader does not take yet is kept, and full() asks the
// caller to let the ranks wait.
class outlet {
 public:
  explicit outlet(int fd) : fd_(fd) {}
  int fd() const noexcept { return fd_; }
  // Takes what a rank wrote; passes complete lines on. A line of more than longest_line goes in pieces.
  void take(line_buffer&, std::string_view bytes);
  // Nothing more will come: passes on the last line even without its end.
  void finish(line_buffer&);
  // A line of the launcher itself.
  void say(std::string_view line);
  std::size_t bytes() const noexcept { return queue_.size() - sent_; }  // that wait
  bool idle() const noexcept { return bytes() == 0; }
  bool full() const noexcept { return bytes() > capacity; }
  // Call when the descriptor can be written to. False: whoever read it is gone. On any other error (a full disk) all is dropped
  // from then on, and lost() is its errno: a computation does not end for its output.
  bool send();
  int lost() const noexcept { return lost_; }

  static constexpr std::size_t longest_line = 1 << 20;
  static constexpr std::size_t capacity = 4 << 20;

 private:
  void put(line_buffer&, std::string_view piece);
  int fd_;
  std::string queue_;
  std::size_t sent_ = 0;
  int lost_ = 0;
  const line_buffer* open_line_ = nullptr;  // whose line was passed on without its end
};

}  // namespace tutti::launching
