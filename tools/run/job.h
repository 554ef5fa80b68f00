// A job of ranks on this node: starts them, carries their input, output and signals, and ends with them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tutti::launching {

enum class binding { automatic, core, none };  // automatic: core if every rank gets one of its own

struct job_options {
  std::uint32_t ranks = 1;
  binding bind = binding::automatic;
  double timeout_s = 0;                  // 0: none
  double grace_s = 2;                    // between asking ranks to end and SIGKILL
  bool tag_output = false;
  bool keep_going = false;               // survivors of a dead rank run on
  std::string scratch = "/tmp";          // where the job's private folder goes
  std::vector<std::string> environment;  // of every rank, without PMIx's part: NAME=VALUE
  std::string path;                      // of the program
  std::vector<std::string> arguments;    // its argv
};

// Exit statuses of the launcher's own.
inline constexpr int status_failure = 1, status_timeout = 124, status_cannot_execute = 126, status_not_found = 127;

// Runs the job to its end. The result is the launcher's exit status: that of the first rank that failed, 128 + N for
// signal N; everything that the user must know has been said on stderr. Once in the life of a process, which must then
// leave by _Exit (pmix_server.h).
int run_job(const job_options&);

}  // namespace tutti::launching
