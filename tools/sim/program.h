// `tutti sim ./program`: a program whose ranks are processes, in a simulated world.
#pragma once
#include <string>
#include <vector>

#include "tools/sim/figures.h"

namespace tutti::tools {

struct program_plan {
  std::vector<std::string> words;      // argv; the first is found as a shell finds it
  double compute = 1;                  // virtual time of a microsecond that the program's processor works; 0: it works in no time
  std::function<void(double us, std::uint64_t messages)> progress;  // so far, in virtual time; called with each question of a rank; may be empty
};

struct program_run {
  sim_figures figures;                 // of it all: us, messages, payload, the busiest link
  int exit_status = 0;                 // of the first rank that failed (128 + N for signal N); 0: none did
  std::string trouble;                 // which ranks failed, and how; "": none
};

// Each rank is a function of the world and a process, of which one works at a time. What such a process asks its fabric, that function asks the
// rank's transport; what it works between two questions takes virtual time, where it is long enough to be the program's own (simulated::least_work_ns). Errors:
// no process can be started; the world is stuck, with the ranks that wait.
result<program_run> run_program(const sim::parameters&, const program_plan&);

}  // namespace tutti::tools
