#include "tests/harness/run.h"

#include <execinfo.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>

#include "tests/harness/coverage.h"
#include "tests/harness/expect.h"
#include "tests/harness/lists.h"

// Only in a build with the address sanitizer: leaks of a child would be lost, for it leaves by _exit.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));
extern "C" void __sanitizer_symbolize_pc(void* pc, const char* format, char* out, std::size_t room) __attribute__((weak));

namespace tutti::test {
namespace {

using clock = std::chrono::steady_clock;
constexpr int exit_leaked = 23;
constexpr auto grace = std::chrono::milliseconds{1500} * time_scale;  // for the others, once one rank has failed

// --- in the child ------------------------------------------------------------------------------------------------
std::atomic<void (*)(char*, std::size_t)> describer{nullptr};
char* dump_to = nullptr;

// The watchdog is about to kill this process: say where it stands. Uses nothing that allocates.
void dump(int) {
  if (auto* f = describer.load(std::memory_order_relaxed); f && dump_to && !*dump_to) f(dump_to, meeting::waiting_bytes);
  constexpr std::string_view title = "stack of a rank that is about to be ended:\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, title.data(), title.size());
  void* frames[48];
  const int n = backtrace(frames, 48);
  backtrace_symbols_fd(frames, n, STDERR_FILENO);
}

// To look for leaks is to read all that a process has, which takes longer than most worlds run. The processes of the first world
// look; of eight worlds each process looks after one, all of them where all tests are wanted.
bool looks_for_leaks(std::uint64_t world, std::uint32_t process) { return world == 0 || world % 8 == process % 8 || whole_list(); }

[[noreturn]] void child(meeting& m, rank_t first, std::uint32_t count, pid_t parent, const process_body& body, bool leaks) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGALRM}) std::signal(s, SIG_DFL);  // Boost.Test's
  void* warm[1];
  backtrace(warm, 1);  // loads libgcc now: the first call allocates
  dump_to = m.waiting(first);
  std::signal(SIGUSR1, dump);
  if (count == 1)
    run_one(m, first, [&] { body(m, first, 1); });
  else
    body(m, first, count);
  std::fflush(nullptr);
  keep_coverage();
  const bool passed = m.state(first) == rank_state::passed;
  if (passed && leaks && __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) _exit(exit_leaked);
  _exit(0);
}

// --- in the parent -----------------------------------------------------------------------------------------------

// The sanitizer reads the debug information of every library when it first names a place in the code, which its check for
// leaks does to compare what it found with the suppressions. Children inherit what was read before the fork, and save a tenth
// of a second each.
void read_debug_information_once() {
  [[maybe_unused]] static const bool done = [] {
    char text[256];
    if (__sanitizer_symbolize_pc) __sanitizer_symbolize_pc(reinterpret_cast<void*>(&read_debug_information_once), "%f", text, sizeof text);
    return true;
  }();
}

struct running {
  pid_t pid = -1;
  int fd = -1;  // pidfd
  rank_t first = 0;
  std::uint32_t count = 0;
  std::optional<int> status;  // of waitpid
};

bool harvest(running& p, meeting& m, int flags) {
  int s = 0;
  if (p.status || waitpid(p.pid, &s, flags) != p.pid) return false;
  p.status = s;
  close(p.fd);
  for (rank_t r = p.first; r < p.first + p.count; ++r) m.gone(r);
  return true;
}

bool must_die(const run_options& o, rank_t r) {
  for (rank_t d : o.to_die)
    if (d == r) return true;
  return false;
}

rank_end end_of(const running& p, rank_t r, meeting& m, const run_options& o) {
  using enum rank_end::how;
  const int s = *p.status;
  const std::string waiting = *m.waiting(r) ? std::string{", waiting for "} + m.waiting(r) : std::string{};
  if (must_die(o, r)) {
    if (WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL) return {passed, {}};
    if (m.state(r) == rank_state::died) return {passed, {}};
    if (m.state(r) == rank_state::passed) return {failed, "should have died by SIGKILL and did not"};
  }
  if (m.state(r) == rank_state::failed) return {failed, m.text(r)};
  if (WIFSIGNALED(s)) return {crashed, std::string{"died by "} + strsignal(WTERMSIG(s)) + waiting};
  switch (m.state(r)) {
    case rank_state::failed: break;
    case rank_state::skipped: return {skipped, m.text(r)};
    case rank_state::died: return {crashed, "died in its simulated world"};
    case rank_state::running: return {crashed, "exited with status " + std::to_string(WEXITSTATUS(s)) + waiting};
    case rank_state::passed: break;
  }
  if (WEXITSTATUS(s) == exit_leaked) return {failed, "memory leaked (see the sanitizer's report)"};
  if (WEXITSTATUS(s) != 0) return {crashed, "exited with status " + std::to_string(WEXITSTATUS(s))};
  return {passed, {}};
}

bool bad(const rank_end& e) { return e.as != rank_end::how::passed && e.as != rank_end::how::skipped; }

void kill_rest(std::vector<running>& all, meeting& m) {
  for (auto& p : all)
    if (!p.status) kill(p.pid, SIGUSR1);
  const timespec moment{0, 200'000'000};
  nanosleep(&moment, nullptr);
  for (auto& p : all)
    if (!p.status) kill(p.pid, SIGKILL);
  for (auto& p : all)
    if (!p.status) harvest(p, m, 0);
}

}  // namespace

void describe_waits_by(void (*describe)(char*, std::size_t)) noexcept { describer.store(describe); }

void run_one(meeting& m, rank_t r, const std::function<void()>& part) noexcept {
  try {
    part();
    if (m.state(r) == rank_state::running) m.finish(r, rank_state::passed, {});  // else what it ran has said how it ended
  } catch (const failure& f) {
    m.finish(r, rank_state::failed, f.text);
  } catch (const skipped& s) {
    m.finish(r, rank_state::skipped, s.reason);
  } catch (const std::exception& e) {
    m.finish(r, rank_state::failed, std::string{"exception: "} + e.what());
  } catch (...) {
    m.finish(r, rank_state::failed, "unknown exception");
  }
}

run_report run_processes(std::uint32_t ranks, bool together, const run_options& o, const process_body& body) {
  read_debug_information_once();
  meeting m(ranks);
  for (rank_t r : o.to_die) m.excuse(r);
  std::cout.flush();
  std::fflush(nullptr);

  static std::atomic<std::uint64_t> worlds{0};
  const std::uint64_t world = worlds++;
  std::vector<running> all(together ? 1 : ranks);
  const pid_t parent = getpid();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i].first = i, all[i].count = together ? ranks : 1;
    all[i].pid = fork();
    if (all[i].pid == 0) child(m, all[i].first, all[i].count, parent, body, looks_for_leaks(world, i));
    if (all[i].pid < 0) {
      all.resize(i);
      kill_rest(all, m);
      return {{{rank_end::how::failed, std::string{"fork: "} + std::strerror(errno)}}};
    }
  }
  for (auto& p : all) p.fd = static_cast<int>(syscall(SYS_pidfd_open, p.pid, 0));

  run_report report;
  report.ranks.resize(ranks);
  auto limit = clock::now() + o.timeout;
  bool failed = false;
  for (;;) {
    std::vector<pollfd> fds;
    for (auto& p : all)
      if (!p.status) fds.push_back({p.fd, POLLIN, 0});
    if (fds.empty()) break;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - clock::now());
    if (left.count() <= 0) break;
    poll(fds.data(), fds.size(), static_cast<int>(left.count()) + 1);
    for (auto& p : all) {
      if (!harvest(p, m, WNOHANG)) continue;
      for (rank_t r = p.first; r < p.first + p.count; ++r) {
        report.ranks[r] = end_of(p, r, m, o);
        if (!bad(report.ranks[r]) || failed) continue;
        failed = true;
        limit = std::min(limit, clock::now() + grace);
      }
    }
  }
  std::vector<running*> late;
  for (auto& p : all)
    if (!p.status) late.push_back(&p);
  if (late.empty()) return report;
  kill_rest(all, m);
  for (auto* p : late)
    for (rank_t r = p->first; r < p->first + p->count; ++r) {
      const rank_state s = m.state(r);
      const std::string what = *m.waiting(r) ? m.waiting(r) : "nothing that the harness knows of";
      if (s == rank_state::failed) report.ranks[r] = {rank_end::how::failed, m.text(r)}, failed = true;
      else if (s == rank_state::running)
        report.ranks[r] = {failed ? rank_end::how::ended : rank_end::how::hung, "waiting for " + what};
      else report.ranks[r] = {rank_end::how::hung, "finished, but its process did not end"};
    }
  return report;
}

bool run_report::passed() const noexcept {
  for (const auto& r : ranks)
    if (r.as != rank_end::how::passed) return false;
  return true;
}

const std::string* run_report::skipped() const noexcept {
  for (const auto& r : ranks)
    if (r.as != rank_end::how::skipped) return nullptr;
  return ranks.empty() ? nullptr : &ranks.front().text;
}

std::string run_report::text() const {
  static constexpr const char* names[] = {"passed", "failed", "skipped", "crashed", "hung", "was ended"};
  std::string all;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].as == rank_end::how::passed) continue;
    all += "rank " + std::to_string(r) + " " + names[static_cast<int>(ranks[r].as)] + ": " + ranks[r].text + "\n";
  }
  return all;
}

}  // namespace tutti::test
