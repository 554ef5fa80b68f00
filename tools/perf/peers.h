// The barrier against Debian's Open MPI and MPICH: whole jobs in turn, several times, so that the machine's moods fall
// upon all of them. With a neighbour, a busy process of another program shares the machine meanwhile.
#pragma once
#include <string>
#include <vector>

namespace tutti::tools {

struct peers_plan {
  std::string self;              // path of this executable
  std::vector<int> ranks{2, 4, 8, 16};
  bool neighbour = false;
  double seconds = 1.5;          // of each job
  int rounds = 3;
};

int compare_with_peers(const peers_plan&);  // prints a table; the exit status

}  // namespace tutti::tools
