#include "tools/perf/contestants.h"

#include <unistd.h>

#include <cstdio>
#include <sstream>
#include <thread>

#include "tools/process.h"

namespace tutti::tools {
namespace {

mpi_library built(std::string name, std::string compiler, const std::string& self, const std::string& scratch, const char* name_of_source) {
  mpi_library m{std::move(name), std::move(compiler), {}, {}};
  const std::string program = scratch + "/" + m.compiler + ".bench", source = bench_source(self, name_of_source);
  if (output_of_shell(m.compiler + " -O2 -o " + program + " '" + source + "' -lm && echo built")) m.program = program;
  else m.why_not = could_not_build(m.compiler, source);
  return m;
}

}  // namespace

std::optional<std::string> output_of_shell(const std::string& command, bool whole, std::string* words_of_error) {
  return output_of({"sh", "-c", whole ? command : "{ " + command + "; true; }"}, true, words_of_error);
}

void print_words(const std::string& who, const std::string& words_of_error) {
  constexpr int most = 12;
  if (words_of_error.empty()) {
    std::printf("%s has no figure and said nothing; most likely its time ran out\n", who.c_str());
    return;
  }
  std::printf("%s has no figure. It said:\n", who.c_str());
  std::istringstream lines(words_of_error);
  int shown = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && ++shown <= most) std::printf("    %s\n", line.c_str());
  if (shown > most) std::printf("    ... and %d lines more\n", shown - most);
}

std::string bounded_by(double seconds) { return "timeout -k 2 " + std::to_string(static_cast<int>(seconds) + 1) + " "; }

std::string bench_source(const std::string& self, const char* name) {
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  std::string file;
  for (const char* way : {TUTTI_BENCH_FROM_BUILT, TUTTI_BENCH_FROM_BIN}) {
    file = folder + way + "/" + name;
    if (access(file.c_str(), R_OK) == 0) break;
  }
  return file;
}

std::string could_not_build(const std::string& compiler, const std::string& source) {
  if (access(source.c_str(), R_OK) != 0) return source + " is missing; install it with tutti";
  return compiler + " is not installed or could not build " + source;
}

mpi_library open_mpi(const std::string& self, const std::string& scratch, const char* source) {
  return built("Open MPI", "mpicc.openmpi", self, scratch, source);
}

mpi_library mpich(const std::string& self, const std::string& scratch, const char* source) {
  return built("MPICH", "mpicc.mpich", self, scratch, source);
}

std::string mpi_library::start(int ranks, path p, const std::string& settings) const {
  const bool a_core_each = ranks <= static_cast<int>(std::thread::hardware_concurrency());
  const std::string n = " -n " + std::to_string(ranks) + " " + (settings.empty() ? "" : "env " + settings + " ") + program + " ";
  if (name == "MPICH")
    return std::string(p == path::ucx_tcp ? "env UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1 " : "") + "mpiexec.mpich" +
           (a_core_each ? " -bind-to core" : "") + n;
  std::string words = p == path::ucx_tcp ? "env UCX_TLS=tcp,self " : "";
  words += std::string("mpirun.openmpi ") + (getuid() == 0 ? "--allow-run-as-root " : "") + "--oversubscribe --bind-to " +
           (a_core_each ? "core" : "none") + " --mca mpi_yield_when_idle 1";
  if (p == path::tcp) words += " --mca pml ob1 --mca btl tcp,self";
  else if (p != path::shared_memory)
    words += " --mca pml ucx --mca osc ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any";
  return words + n;
}

}  // namespace tutti::tools
