// tutti run: N ranks of a program on this node.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/job/config.h"
#include "tools/command.h"
#include "tools/run/job.h"
#include "tools/run/mpi_program.h"
#include "tools/run/rank_process.h"

namespace tutti::tools {
namespace {

constexpr long most_ranks = 4096;  // four descriptors each, and the usual hard limit is 2^20 or 2^19

constexpr double most_seconds = 1e9;

void say(const std::string& what) { std::fprintf(stderr, "tutti run: %s\n", what.c_str()); }

int refuse(const std::string& why, int code = usage_error) {
  say(why);
  return code;
}

struct choices {
  long ranks = 1;
  std::string bind = "auto";
  double timeout = 0, grace = 2;
  bool tag = false, keep_going = false;
  std::vector<std::string> set;
  std::vector<std::string> program;
};

int run(const choices& c) {
  std::vector<std::string> program = c.program;
  if (program.empty()) return refuse("no program is named; write tutti run -n 4 ./program arguments");
  if (program[0].starts_with('-'))
    return refuse("unknown option " + program[0] + "; `tutti run --help` lists them, the program's own come after it");
  if (c.ranks < 1) return refuse("-n " + std::to_string(c.ranks) + ": a job has at least 1 rank; use -n 1 or more");
  if (c.ranks > most_ranks)
    return refuse("-n " + std::to_string(c.ranks) + " is more than one node takes; use at most " +
                  std::to_string(most_ranks));
  if (!(c.timeout >= 0 && c.timeout <= most_seconds && c.grace >= 0 && c.grace <= most_seconds))  // no number is refused too
    return refuse("--timeout and --grace are seconds, from 0 to 1e9");

  environment variables = process_environment();
  for (const std::string& setting : c.set) {
    const auto equals = setting.find('=');
    if (equals == 0 || setting.empty()) return refuse("-x " + setting + " is neither NAME nor NAME=VALUE");
    if (equals == setting.npos) {  // what is set here is passed on anyway
      if (!variables.contains(setting)) say("-x " + setting + ": there is no such variable here, and the ranks get none");
      continue;
    }
    variables[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  const auto path = launching::find_program(program[0], launching::search_path(variables));
  if (!path)
    return path.error().native() == ENOENT
               ? refuse("cannot find " + program[0] + "; check the name, or give its path", launching::status_not_found)
               : refuse("cannot run " + program[0] + ": it is not an executable file; try chmod +x",
                        launching::status_cannot_execute);

  // MPI's own start finds no launcher that it knows: each rank takes itself for a job of one, and says nothing.
  if (const std::string mpi = launching::mpi_library_of(*path); c.ranks > 1 && !mpi.empty())
    say(*path + " is linked with " + mpi + ", which takes this for " + std::to_string(c.ranks) +
        " jobs of one rank each; start it by the mpirun or mpiexec of that MPI");

  launching::job_options o;
  o.ranks = static_cast<std::uint32_t>(c.ranks);
  o.bind = c.bind == "core" ? launching::binding::core : c.bind == "none" ? launching::binding::none : launching::binding::automatic;
  o.timeout_s = c.timeout, o.grace_s = c.grace;
  o.tag_output = c.tag, o.keep_going = c.keep_going;
  const auto scratch = variables.find("TMPDIR");
  o.scratch = scratch == variables.end() || scratch->second.empty() ? "/tmp" : scratch->second;
  o.path = *path, o.arguments = std::move(program);
  // A launcher around this one, if any, has told its own ranks where its server is; ours ask ours.
  for (const auto& [name, value] : variables)
    if (!name.starts_with("PMIX_") || name.starts_with("PMIX_MCA_")) o.environment.push_back(name + "=" + value);
  std::_Exit(launching::run_job(o));  // nothing is buffered here, and libpmix's thread must not see the statics go
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.program_follows();
  app.add("-n", c->ranks, "number of ranks; -np N means the same").shows_default();
  app.add("--bind", c->bind, "bind rank i to the i-th core; auto: if there is a core for each rank")
      .one_of({"auto", "core", "none"}).shows_default();
  app.add("--timeout", c->timeout, "end the job after so many seconds, exit status 124");
  app.add("--grace", c->grace, "seconds between asking ranks to end and killing them").shows_default();
  app.add("--tag-output", c->tag, "put [rank] before each line of output");
  app.add("--keep-going", c->keep_going, "let the other ranks run on when one dies");
  app.add("-x", c->set, "NAME=VALUE in the environment of the ranks, or NAME, which they have anyway; may be repeated").one_each();
  app.footer("Exit status: of the first rank that failed (128 + N for signal N); 124 timeout, 126 or 127 the program\n"
             "cannot run or be found, 2 a call that makes no sense.");
  return [c, app] {
    c->program = app.program();
    return run(*c);
  };
}

}  // namespace

const command run_command{"run", "start a program as N ranks on this node", declare};

}  // namespace tutti::tools
