// One rank as a process: a process group of its own, its output in pipes, dead when the launcher dies.
#pragma once
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/unique_fd.h"
#include "core/job/config.h"

namespace tutti::launching {

struct rank_output {
  unique_fd output, error;  // what its stdout and stderr become
};

struct rank_spec {
  std::string path;                      // of the program, resolved
  std::vector<std::string> arguments;    // argv, with the name as the user gave it
  std::vector<std::string> environment;  // all of it
  int input = -1;                        // its standard input; -1: /dev/null
  rank_output output;
  std::optional<cpu_set_t> cores;        // where it may run
  std::optional<rlimit> files;           // how many it may open; none: as many as the launcher
};

struct rank_process {
  pid_t pid = -1;
  unique_fd pidfd;             // readable when it ended
};

// Call it from the thread that will live as long as the ranks shall: the kernel kills them when this thread ends.
// `unavailable` with native() the errno of execve when the program cannot run.
result<rank_process> start_rank(const rank_spec&);

// The folders that a shell would search: $PATH, or the usual ones where that is empty.
std::string search_path(const environment&);
// Where a shell would find the program. The status' native() is ENOENT or EACCES.
result<std::string> find_program(const std::string& name, const std::string& search_path);

}  // namespace tutti::launching
