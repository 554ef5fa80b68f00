#include "tools/perf/measuring_jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tools/perf/load.h"
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

}  // namespace

struct measuring_jobs::state {
  explicit state(bool progress) : line(progress) {}
  launching::scratch_folder scratch;
  interrupts_are_the_jobs guard;
  status_line line;
  int pipe = -1;
};

namespace {

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

bool machine_is_loaded() noexcept {
  constexpr double much = 0.5;  // of all cores
  return load_average() > much * std::max(1u, std::thread::hardware_concurrency());
}

measuring_jobs::measuring_jobs(bool progress) : state_(std::make_unique<state>(progress)) {
  if (progress && machine_is_loaded()) std::fprintf(stderr, "tutti: other programs use this machine: times will vary, and be too long\n");
  require(state_->scratch.make(launching::temporary_parent()));
  if (progress && mkfifo(fifo().c_str(), 0600) == 0) state_->pipe = ::open(fifo().c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

measuring_jobs::~measuring_jobs() {
  if (state_->pipe >= 0) ::close(state_->pipe);
}

const std::string& measuring_jobs::scratch() const { return state_->scratch.path(); }
std::string measuring_jobs::fifo() const { return scratch() + "/progress"; }

bool measuring_jobs::run(std::vector<std::string> words, const std::string& title) {
  if (state_->pipe >= 0) words.insert(words.end(), {"--progress-to", fifo()});
  const int status = follow(start(std::move(words)), state_->pipe, title, state_->line);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) throw std::runtime_error("interrupted");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace tutti::tools
