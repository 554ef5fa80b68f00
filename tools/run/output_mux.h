// The ranks' stdout and stderr on their way to the launcher's.
#pragma once
#include <poll.h>

#include <deque>
#include <vector>

#include "tools/run/outlet.h"
#include "tools/run/rank_process.h"

namespace tutti::launching {

class output_mux {
 public:
  // Takes over the rank's ends. `tag` goes before each line.
  void add(rank_process&, std::string tag, bool alone);
  void say(std::string_view line) { error_.say(line); }  // on stderr, between the ranks' lines
  void interests(std::vector<pollfd>&) const;  // appends what to wait for
  void proceed();                              // after the wait: moves whatever can be moved without blocking
  // Ranks are gone: moves what they left in the pipes, to the last byte. Processes that outlive them and hold the
  // pipes are not waited for.
  void settle();
  // Something could not be written, for another reason than a reader that left.
  bool lost() const noexcept { return output_.lost() || error_.lost(); }

 private:
  struct stream {
    unique_fd from;
    outlet* to;
    line_buffer lines;
  };
  bool move(stream&);  // false: nothing more for now
  void send(outlet&);
  outlet output_{1}, error_{2};
  std::deque<stream> streams_;  // outlets point into it: elements do not move
};

}  // namespace tutti::launching
