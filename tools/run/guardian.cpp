// It learns of the launcher's end by the end of a pipe that only the launcher holds; exec closes the copies that the
// ranks are born with. It ignores the signals of a terminal: it must outlive whoever they are meant for.
#include "tools/run/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "tools/run/leavings.h"

namespace tutti::launching {
namespace {

[[noreturn]] void guard(int line, const std::string& folder) {
  setsid();
  prctl(PR_SET_NAME, "tutti-guardian");
  sigset_t every;
  sigfillset(&every);
  sigprocmask(SIG_BLOCK, &every, nullptr);
  // Holding the launcher's output open would keep its reader waiting.
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  std::set<pid_t> groups;
  for (pid_t what;;) {
    const ssize_t got = read(line, &what, sizeof what);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof what) break;
    if (what > 0) groups.insert(what);
    else groups.erase(-what);
  }
  for (const pid_t g : groups) {
    kill(-g, SIGKILL);
    remove_leavings(g);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  _exit(0);
}

}  // namespace

status guardian::start(const std::string& folder) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return {errc::no_resource, std::string{"cannot start: "} + std::strerror(errno)};
  unique_fd read_end{fds[0]};
  line_ = unique_fd{fds[1]};
  pid_ = fork();
  if (pid_ < 0) return {errc::no_resource, std::string{"cannot start another process: "} + std::strerror(errno)};
  if (pid_ == 0) {
    line_.close();
    guard(read_end.get(), folder);
  }
  return {};
}

void guardian::tell(pid_t what) noexcept {
  [[maybe_unused]] const ssize_t told = write(line_.get(), &what, sizeof what);  // if it is gone, so be it
}

guardian::~guardian() {
  line_.close();
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

}  // namespace tutti::launching
