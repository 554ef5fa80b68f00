// The ranks' stdout and stderr on their way to the launcher's, in the order in which the ranks wrote.
//
// A rank that prints a line and then lets another rank print one expects that its own line is first. Nothing tells when what lies in
// a pipe was written, so the launcher must read as the ranks write. Therefore a rank's pipe holds one write, and the rank's next write
// waits until that is read. The pipes are in an epoll set with edges, and the list of those that are ready is the order of all writes:
//   - A pipe is empty at each write, so each write is an edge. The edge appends the pipe to the list within the call of write(), before
//     the rank can do anything that another rank notices.
//   - A pipe in the list has not been read yet, so no second write of that rank hides behind the first.
//   - Each arrival is read once, in the list's order. The rank may write then, and its pipe goes to the list's end.
// Where the kernel has no such pipes, and of a job of one rank, the order is that in which pipes are found ready, one read of each in turn.
#pragma once
#include <poll.h>

#include <deque>
#include <vector>

#include "tools/run/outlet.h"
#include "tools/run/rank_process.h"

namespace tutti::launching {

class output_mux {
 public:
  output_mux();
  // Of one more rank: what it is to write to. `tag` goes before each line.
  result<rank_output> add(std::string tag, bool alone);
  void say(std::string_view line) { error_.to.say(line); }  // on stderr, between the ranks' lines
  void interests(std::vector<pollfd>&) const;  // appends what to wait for
  void proceed();                              // after the wait: moves whatever can be moved without blocking
  // Ranks are gone: moves what they left in the pipes, to the last byte. Processes that outlive them and hold the
  // pipes are not waited for.
  void settle();
  // Something could not be written, for another reason than a reader that left.
  bool lost() const noexcept { return output_.to.lost() || error_.to.lost(); }

 private:
  struct side;
  struct stream {
    unique_fd from;
    side* of;
    line_buffer lines;
    bool one_write;  // is all that the pipe holds
  };
  struct arrival {
    stream* at;
    bool ended;      // nobody can write any more
  };
  struct side {
    outlet to;
    std::deque<arrival> due;  // not read while the outlet is full
  };
  result<unique_fd> add(side&, std::string tag, bool alone);
  std::size_t collect();  // the number of arrivals
  void read(const arrival&);
  void send(side&);
  void pass_on();
  side output_{outlet{1}, {}}, error_{outlet{2}, {}};
  std::deque<stream> streams_;  // outlets and arrivals point into it: elements do not move
  unique_fd arrivals_;
  std::vector<char> bytes_;
};

}  // namespace tutti::launching
