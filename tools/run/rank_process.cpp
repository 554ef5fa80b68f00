// Between fork and exec the child shares a copy of a process with threads (libpmix's), any of which may have held a
// lock: only system calls are made there, upon memory prepared before. What goes wrong is told through a pipe that a
// successful exec closes.
#include "tools/run/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

namespace tutti::launching {
namespace {

struct pipe_ends {
  unique_fd read, write;
};

bool open_pipe(pipe_ends& p) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  p.read = unique_fd{fds[0]}, p.write = unique_fd{fds[1]};
  return true;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (const std::string& s : strings) all.push_back(const_cast<char*>(s.c_str()));
  all.push_back(nullptr);
  return all;
}

struct prepared {
  const rank_spec& spec;
  pid_t launcher;
  int input, report;
  char* const* argv;
  char* const* envp;
};

[[noreturn]] void become(const prepared& p) {
  const auto fail = [&] {
    const int code = errno;
    [[maybe_unused]] const ssize_t told = write(p.report, &code, sizeof code);
    _exit(127);
  };
  if (setpgid(0, 0) != 0) fail();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (getppid() != p.launcher) _exit(127);  // it died before the line above: nobody is left to tell
  if (dup2(p.input, 0) < 0 || dup2(p.spec.output.output.get(), 1) < 0 || dup2(p.spec.output.error.get(), 2) < 0)
    fail();
  if (p.spec.cores && sched_setaffinity(0, sizeof(cpu_set_t), &*p.spec.cores) != 0) fail();
  if (p.spec.files && setrlimit(RLIMIT_NOFILE, &*p.spec.files) != 0) fail();
  // What the launcher ignores, exec would hand on. SIGHUP stays as it is: nohup holds for the ranks too.
  for (int s = 1; s <= SIGRTMAX; ++s)
    if (s != SIGHUP && s != SIGKILL && s != SIGSTOP) signal(s, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) fail();
  execve(p.spec.path.c_str(), p.argv, p.envp);
  fail();
  _exit(127);
}

status failed(const char* what) {
  return {errc::no_resource, std::string{what} + ": " + std::strerror(errno), no_rank, errno};
}

}  // namespace

result<rank_process> start_rank(const rank_spec& spec) {
  pipe_ends report;
  unique_fd null;
  if (spec.input < 0) {
    null = unique_fd{open("/dev/null", O_RDONLY | O_CLOEXEC)};
    if (!null) return failed("cannot open /dev/null, without which a container is not whole (mount /dev, or `mknod -m 666 /dev/null c 1 3`)");
  }
  if (!open_pipe(report)) return failed("cannot make the pipes of a rank (`ulimit -n` raises the limit)");
  const auto argv = pointers(spec.arguments);
  const auto envp = pointers(spec.environment);
  const prepared p{spec, getpid(), null ? null.get() : spec.input, report.write.get(), argv.data(), envp.data()};
  rank_process rank;
  rank.pid = fork();
  if (rank.pid < 0) return failed("cannot start another process (`ulimit -u` raises the limit)");
  if (rank.pid == 0) become(p);
  setpgid(rank.pid, rank.pid);  // whichever of the two comes first; later it fails harmlessly
  report.write.close();
  int code = 0;
  ssize_t told;
  do told = read(report.read.get(), &code, sizeof code);
  while (told < 0 && errno == EINTR);
  if (told == sizeof code) {
    waitpid(rank.pid, nullptr, 0);
    return status{errc::unavailable, std::strerror(code), no_rank, code};
  }
  rank.pidfd = unique_fd{static_cast<int>(syscall(SYS_pidfd_open, rank.pid, 0))};
  if (!rank.pidfd) {
    const status s = failed("cannot watch a rank");
    kill(rank.pid, SIGKILL);
    waitpid(rank.pid, nullptr, 0);
    return s;
  }
  return rank;
}

std::string search_path(const environment& variables) {
  const auto v = variables.find("PATH");
  return v == variables.end() || v->second.empty() ? "/usr/local/bin:/usr/bin:/bin" : v->second;
}

result<std::string> find_program(const std::string& name, const std::string& search_path) {
  int why = ENOENT;
  const auto usable = [&](const std::string& path) {
    struct stat s;
    if (stat(path.c_str(), &s) != 0) return false;
    if (S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0) return true;
    why = EACCES;
    return false;
  };
  if (name.find('/') != name.npos) {
    if (usable(name)) return name;
  } else if (!name.empty()) {
    for (std::size_t begin = 0; begin <= search_path.size();) {
      const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
      const std::string folder = search_path.substr(begin, end - begin);
      if (std::string path = (folder.empty() ? "." : folder) + "/" + name; usable(path)) return path;
      begin = end + 1;
    }
  }
  return status{errc::unavailable, std::strerror(why), no_rank, why};
}

}  // namespace tutti::launching
