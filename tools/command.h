// A subcommand of `tutti` is one constant of this type, defined in a file of its own and named in main.cpp's table.
#pragma once
#include <functional>

#include "tools/options.h"

namespace tutti::tools {

struct command {
  const char* name;
  const char* summary;  // one line
  // Declares options upon the subcommand and returns what to do once they are parsed; its result is the exit status.
  std::function<int()> (*declare)(options);
};

inline constexpr int usage_error = 2;  // exit status of a call that makes no sense

extern const command run_command, perf_command, info_command, sim_command, papers_command, tune_command, bsp_report_command, mpi_command;

}  // namespace tutti::tools
