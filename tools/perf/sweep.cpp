#include "tools/perf/sweep.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "tools/perf/require.h"
#include "tools/perf/status_line.h"
#include "tools/process.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

// Ctrl-C ends the job, which shares the terminal; its parent then cleans up and ends as well.
class interrupts_are_the_jobs {
 public:
  interrupts_are_the_jobs() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &before_);
  }
  ~interrupts_are_the_jobs() { sigaction(SIGINT, &before_, nullptr); }
  interrupts_are_the_jobs(const interrupts_are_the_jobs&) = delete;
  interrupts_are_the_jobs& operator=(const interrupts_are_the_jobs&) = delete;

 private:
  struct sigaction before_ {};
};

pid_t start(std::vector<std::string> words) {
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t heard;
  sigemptyset(&heard);
  sigaddset(&heard, SIGINT);
  posix_spawnattr_setsigdefault(&how, &heard);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int e = posix_spawn(&pid, words[0].c_str(), nullptr, &how, arguments_of(words).data(), environ);
  posix_spawnattr_destroy(&how);
  if (e != 0) throw std::runtime_error("cannot start " + words[0]);
  return pid;
}

// Shows what the job writes to the pipe until it ends; its wait status.
int follow(pid_t pid, int pipe, const std::string& title, status_line& line) {
  int status = 0;
  std::string text;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    pollfd ready{pipe, POLLIN, 0};
    if (pipe < 0 || poll(&ready, 1, 100) <= 0) {
      if (pipe < 0) usleep(20000);
      continue;
    }
    char buffer[4096];
    const ssize_t n = read(pipe, buffer, sizeof buffer);
    if (n <= 0) {
      usleep(20000);  // nobody writes yet, or any more
      continue;
    }
    text.append(buffer, static_cast<std::size_t>(n));
    const auto end = text.rfind('\n');
    if (end == text.npos) continue;
    const auto begin = end == 0 ? text.npos : text.rfind('\n', end - 1);
    const std::string last = text.substr(begin == text.npos ? 0 : begin + 1, end - (begin == text.npos ? 0 : begin + 1));
    line.show(title + last);
    text.erase(0, end + 1);
  }
  line.clear();
  return status;
}

}  // namespace

report sweep(const sweep_plan& plan) {
  run::scratch_folder scratch;
  require(scratch.make(run::temporary_parent()));
  const std::string json = scratch.path() + "/report.json", fifo = scratch.path() + "/progress";
  int pipe = -1;
  if (plan.progress && mkfifo(fifo.c_str(), 0600) == 0) pipe = ::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  const interrupts_are_the_jobs guard;

  status_line line(pipe >= 0);
  report all;
  bool by_size = plan.by_size;
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    const int ranks = plan.ranks[i];
    std::vector<std::string> words{plan.self, "run", "-n", std::to_string(ranks), "--timeout", "600", plan.self, "perf"};
    words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
    if (plan.seconds > 0) words.insert(words.end(), {"--seconds", std::to_string(plan.seconds)});
    if (by_size && ranks > 1) words.push_back("--by-size"), by_size = false;
    if (pipe >= 0) words.insert(words.end(), {"--progress-to", fifo});
    words.insert(words.end(), {"--quiet", "--json", json});
    std::string title = plan.ranks.size() > 1 ? "job " + std::to_string(i + 1) + " of " + std::to_string(plan.ranks.size()) +
                                                    ", " + std::to_string(ranks) + " ranks: " : "";
    const int status = follow(start(words), pipe, title, line);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
      report one = from_json(read_text(json));
      if (all.machine.empty()) all.machine = std::move(one.machine);
      for (perf_run& r : one.runs) all.runs.push_back(std::move(r));
      continue;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) throw std::runtime_error("interrupted");
    std::fprintf(stderr, "tutti perf: the job of %d ranks failed\n", ranks);
  }
  if (pipe >= 0) ::close(pipe);
  if (all.runs.empty()) throw std::runtime_error("no job succeeded; its own words stand above");
  return all;
}

}  // namespace tutti::tools
