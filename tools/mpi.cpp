// `tutti mpi`: an MPI program, started by its own MPI's launcher, with the library preloaded that takes its communication over tutti
// (mpi/).
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>

#include "core/job/config.h"
#include "tools/command.h"
#include "tools/mpi/library.h"
#include "tools/process.h"
#include "tools/run/mpi_program.h"
#include "tools/run/rank_process.h"

namespace tutti::tools {
namespace {

struct choices {
  long ranks = 1;
  std::string mpi = "auto";
  bool shows = false;
  std::vector<std::string> words;
};

struct flavour {
  const char* name;                          // as in the library's
  const char* title;                         // for people
  std::vector<std::string> stems;            // of the libraries that its programs are linked with
  std::vector<std::string> launchers;        // the surest first
  const char* says;                          // what its launcher says of itself
};
const flavour flavours[] = {
    {"openmpi", "Open MPI", {"libmpi.so", "libmpi_mpifh", "libmpi_usempi", "libmpi_cxx"}, {"mpirun.openmpi", "mpiexec.openmpi", "mpirun"}, "Open"},
    {"mpich", "MPICH", {"libmpich", "libmpicxx", "libmpifort"}, {"mpiexec.mpich", "mpiexec.hydra", "mpiexec"}, "HYDRA"}};

int refuse(const std::string& why) {
  std::fprintf(stderr, "tutti mpi: %s\n", why.c_str());
  return usage_error;
}

// By the program: the first word that is an executable file linked with an MPI. Null: there is none.
const flavour* flavour_of(const std::vector<std::string>& words, const std::string& path) {
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    const auto file = launching::find_program(word, path);
    const std::string library = file ? launching::mpi_library_of(*file) : std::string{};
    for (const flavour& f : flavours)
      for (const std::string& stem : f.stems)
        if (library.starts_with(stem)) return &f;
  }
  return nullptr;
}

std::optional<std::string> launcher_of(const flavour& f, const std::string& path) {
  for (const std::string& name : f.launchers) {
    const auto file = launching::find_program(name, path);
    if (!file) continue;
    if (const auto says = output_of({*file, "--version"}); says && says->find(f.says) != says->npos) return *file;
  }
  return std::nullopt;
}

// Open MPI's slots: the cores of this machine that the process may use, each counted once however many threads it has.
long cores_here() {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return LONG_MAX;
  std::set<std::string> cores;  // by the list of their threads
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    std::ifstream list("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list");
    std::string threads;
    if (!std::getline(list, threads)) threads = std::to_string(i);
    cores.insert(threads);
  }
  return static_cast<long>(cores.size());
}

// Whether the user or a batch system says where ranks run, and how many.
bool is_placed(const std::vector<std::string>& words, const std::string& path, const environment& variables) {
  for (const char* const of_batch_system : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "OMPI_MCA_orte_default_hostfile"})
    if (variables.contains(of_batch_system)) return true;
  for (const std::string& word : words) {
    if (!word.starts_with('-') && launching::find_program(word, path)) return false;  // what follows is the program's
    for (const char* const option : {"oversubscribe", "host", "machinefile", "map", "hwthread", "-H", "-N", "npernode", "rankfile", "-app"})
      if (word.find(option) != word.npos) return true;
  }
  return false;
}

int start(const choices& c) {
  if (c.words.empty()) return refuse("no program is named; write tutti mpi -n 4 ./program arguments");
  if (c.ranks < 1) return refuse("-n " + std::to_string(c.ranks) + ": a job has at least 1 rank; use -n 1 or more");
  const environment variables = process_environment();
  const std::string path = launching::search_path(variables);

  const flavour* f = nullptr;
  for (const flavour& one : flavours)
    if (c.mpi == one.name) f = &one;
  if (!f) f = flavour_of(c.words, path);
  if (!f && !launching::find_program(c.words[0], path) && !c.words[0].starts_with('-'))
    return refuse("cannot find " + c.words[0] + "; check the name, or give its path");
  if (!f)
    return refuse("none of the words '" + c.words[0] + " ...' is a program linked with Open MPI or MPICH (a script loads its MPI later); "
                  "say which by --mpi openmpi or --mpi mpich");
  const auto launcher = launcher_of(*f, path);
  if (!launcher) return refuse(std::string("the program is ") + f->title + "'s, whose launcher was not found; install it, or check $PATH");
  std::string why_not;
  const auto library = preloaded_library(f->name, why_not);
  if (!library) return refuse(why_not);

  if (library->find_first_of(" :;") != library->npos)  // Open MPI's -x ends at a semicolon
    return refuse("the path of " + *library + " has a blank, a colon or a semicolon, by which LD_PRELOAD ends it; install tutti in another folder");
  std::string preload = *library;  // behind the user's: profiling tools see the program's calls, and what has to be first is
  if (const auto old = variables.find("LD_PRELOAD"); old != variables.end() && !old->second.empty()) preload = old->second + ":" + preload;
  // By its name alone, as a shell starts it: Open MPI takes a path for --prefix, and puts its own folders before PATH and
  // LD_LIBRARY_PATH of all ranks.
  std::vector<std::string> words{launcher->substr(launcher->rfind('/') + 1), "-n", std::to_string(c.ranks)};
  if (std::strcmp(f->name, "openmpi") == 0) {
    words.insert(words.end(), {"-x", "LD_PRELOAD=" + preload});
    if (c.ranks > cores_here() && !is_placed(c.words, path, variables)) words.emplace_back("--oversubscribe");
    for (const auto& [name, value] : variables)  // to other hosts as well
      if (name.starts_with("TUTTI_")) words.insert(words.end(), {"-x", name});
  } else {
    words.insert(words.end(), {"-genv", "LD_PRELOAD", preload});
  }
  words.insert(words.end(), c.words.begin(), c.words.end());
  if (c.shows) {
    for (const std::string& word : words) std::printf("%s%s", &word == words.data() ? "" : " ", word.c_str());
    std::printf("\n");
    return 0;
  }
  const std::vector<char*> arguments = arguments_of(words);
  ::execv(launcher->c_str(), arguments.data());
  return refuse("cannot run " + *launcher + ": " + std::strerror(errno));
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.program_follows();
  app.add("-n", c->ranks, "number of ranks; -np N means the same").shows_default();
  app.add("--mpi", c->mpi, "the program's MPI; auto: that with which the program is linked").one_of({"auto", "openmpi", "mpich"}).shows_default();
  app.add("--show", c->shows, "print the launcher's command, and run nothing");
  app.footer("What follows these options goes to the MPI's own launcher as it is: its options, if any, behind --, and the program.\n"
             "    tutti mpi -n 4 ./app arguments\n"
             "    tutti mpi -n 4 -- --bind-to none ./app arguments\n"
             "TUTTI_MPI says what tutti takes, TUTTI_MPI_REPORT=1 tells at the end what it took. docs/mpi.md has more.");
  return [c, app] {
    c->words = app.program();
    return start(*c);
  };
}

}  // namespace

const command mpi_command{"mpi", "An MPI program with its communication by tutti, unchanged", declare};

}  // namespace tutti::tools
