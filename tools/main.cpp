// The command `tutti`: a table of subcommands.
#include "tools/command.h"
#include "tools/options.h"

int main(int argc, char** argv) {
  using namespace tutti::tools;
  constexpr const command* commands[] = {&run_command, &perf_command, &info_command, &sim_command, &papers_command, &tune_command, &mpi_command, &bsp_report_command};
  return parse_and_run(commands, TUTTI_COMMAND_VERSION, argc, argv);
}
