// The launcher's standard input on its way to rank 0.
#pragma once
#include <poll.h>

#include <string>

#include "core/base/unique_fd.h"

namespace tutti::launching {

// A file or a pipe is handed to the rank as it is: it takes what it wants and the rest stays. A terminal cannot be:
// the ranks are in process groups of their own, in the background of it, and reading would stop them. So the launcher
// reads for the rank, while it is in the foreground itself.
class input_relay {
 public:
  bool open();                                   // false: out of descriptors
  int for_rank() const noexcept { return rank_end_ ? rank_end_.get() : 0; }
  void started() noexcept { rank_end_.close(); }  // rank 0 has its own copy now
  pollfd interest() const noexcept;              // what to wait for; fd -1 for nothing
  void proceed();                                // when that happened

 private:
  unique_fd rank_end_, our_end_;
  std::string pending_;
};

}  // namespace tutti::launching
