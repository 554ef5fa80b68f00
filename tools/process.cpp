#include "tools/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/own_program.h"

namespace tutti::tools {

void reset_inherited_state() noexcept {
  constexpr int kept[] = {SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU};
  struct sigaction now;
  for (int s = 1; s <= SIGRTMAX; ++s)
    if (std::ranges::find(kept, s) == std::end(kept) && sigaction(s, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) ::signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // A descriptor takes the lowest free number, so those below are open by then.
  for (const int fd : {0, 1, 2})
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) [[maybe_unused]] const int same = open("/dev/null", fd == 1 ? O_RDONLY : O_RDWR);
}

bool output_is_written(const char* command) noexcept {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return true;
  const int e = errno;  // 0: an earlier write failed
  std::fprintf(stderr, "tutti%s%s: cannot write the output%s%s\n", *command ? " " : "", command, e ? ": " : "", e ? std::strerror(e) : "");
  return false;
}

std::string own_path() {
  const std::string known = own_program();
  return known.empty() ? "tutti" : known;
}

std::vector<char*> arguments_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  return argv;
}

namespace {

std::string whole_file(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = pread(fd, buffer, sizeof buffer, static_cast<off_t>(out.size()))) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  return out;
}

}  // namespace

std::optional<std::string> output_of(std::vector<std::string> words, bool silent, std::string* words_of_error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  const int errors = words_of_error || silent ? memfd_create("errors", MFD_CLOEXEC) : -1;  // a container may lack /dev/null
  if (errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors, 2);
  pid_t child = -1;
  const int failed = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments_of(words).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  int status = -1;
  if (!failed) {
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    waitpid(child, &status, 0);
  }
  close(ends[0]);
  if (errors >= 0 && words_of_error) *words_of_error = failed ? words[0] + ": " + std::strerror(failed) : whole_file(errors);
  if (errors >= 0) close(errors);
  if (status != 0) return {};
  return out;
}

}  // namespace tutti::tools
