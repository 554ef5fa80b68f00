// Programs of others that are measured beside tutti: how their benchmarks are built and started. Everything that runs is bounded
// by timeout(1), so that nothing stays behind.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tutti::tools {

// Standard output of a shell command; nothing if it fails. `whole` false: what there is, also where it fails. `words_of_error`:
// takes its standard error, which is not shown.
std::optional<std::string> output_of_shell(const std::string& command, bool whole = true, std::string* words_of_error = nullptr);

// Prints a failed job's own words, some lines of them at most, below a table.
void print_words(const std::string& who, const std::string& words_of_error);
std::string bounded_by(double seconds);  // "timeout ... ", for a command

// A benchmark's source, installed with this tool or in the build that made it. Where it is nowhere: where it should be.
std::string bench_source(const std::string& self, const char* name);
std::string could_not_build(const std::string& compiler, const std::string& source);

// An MPI library, and a benchmark built with it: mpi_collectives.c or mpi_messages.c.
struct mpi_library {
  std::string name;      // "Open MPI"
  std::string compiler;  // "mpicc.openmpi"
  std::string program;   // the benchmark; empty: it could not be built
  std::string why_not;   // then

  // Over shared memory as it comes, over tcp by Open MPI's own module, or over UCX's tcp. Ranks are bound to cores where there is one for each, and yield where
  // there is not, if the library can.
  enum class path { shared_memory, tcp, ucx_shared_memory, ucx_tcp };
  // The command; the benchmark's arguments follow. `settings`: "NAME=value ..." for the ranks alone.
  std::string start(int ranks, path, const std::string& settings = {}) const;
};
mpi_library open_mpi(const std::string& self, const std::string& scratch, const char* source = "mpi_collectives.c");
mpi_library mpich(const std::string& self, const std::string& scratch, const char* source = "mpi_collectives.c");

}  // namespace tutti::tools
