// Ends ranks of a job at random moments, and checks what becomes of the others.
//   random_deaths TUTTI MORTAL [--trials N] [--seed S] [--scene NAME] [--how NAME] [--verbose] [--stacks]
// One trial is one job of four ranks, all of it drawn by its seed: what the ranks do, who ends, how (SIGKILL, SIGSEGV,
// _exit(3), two at once; or SIGSTOP and later SIGCONT, by which nobody may be taken for dead) and when. A failed trial prints
// its seed, by which --seed draws the same again; what the machine makes of it may differ. --stacks: gdb's, of a job that hangs.
//
// Every survivor must be told, by the name of one who has ended, within clause 10's second, one more for shared cores, and
// the time for which it and the launcher had no core meanwhile, though they could have run, as the kernel counts that
// (/proc/PID/schedstat), or a thread of this process found it to be. Then nothing is left: no
// file in /dev/shm (a fresh one, where this process may mount it) nor in the folder for temporary files, no process, no
// descriptor in a survivor.
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/failure/book.h"
#include "tests/harness/waited.h"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr unsigned ranks = 4;
constexpr double limit_s = 2.0;
constexpr const char* scenes[] = {"init",    "split",    "window",    "put",  "wait", "barrier",
                                  "ibarrier", "broadcast", "blocks", "join", "sleep", "finalize", "agree"};
enum class how { kill, segv, exit, two, stop };
constexpr const char* how_names[] = {"kill", "segv", "exit", "two", "stop"};

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(clock::now().time_since_epoch()).count());
}

// How late a thread that wants to run for a moment every 5 ms gets to: the longest such time since reset().
class watchdog {
 public:
  watchdog() : thread_([this] { watch(); }) {}
  ~watchdog() { ends_ = true, thread_.join(); }
  void reset() { latest_ = 0; }
  double late_s() const { return latest_; }

 private:
  void watch() {
    while (!ends_) {
      const auto before = clock::now();
      std::this_thread::sleep_for(5ms);
      const double late = std::chrono::duration<double>(clock::now() - before - 5ms).count();
      if (late > latest_) latest_ = late;
    }
  }
  std::atomic<bool> ends_{false};
  std::atomic<double> latest_{0};
  std::thread thread_;
};

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* d = opendir(folder.c_str())) {
    while (const dirent* e = readdir(d))
      if (std::strcmp(e->d_name, ".") != 0 && std::strcmp(e->d_name, "..") != 0) names.emplace_back(e->d_name);
    closedir(d);
  }
  return names;
}

std::string text_of(const std::string& path) {
  std::string text;
  if (std::FILE* f = std::fopen(path.c_str(), "r")) {
    char room[4096];
    while (const std::size_t n = std::fread(room, 1, sizeof room, f)) text.append(room, n);
    std::fclose(f);
  }
  return text;
}

struct options {
  std::string tutti, mortal, scene, how, folder;
  std::uint64_t seed = 1, trials = 30;
  bool verbose = false, stacks = false;
};

struct plan {
  std::string scene;
  how by = how::kill;
  unsigned victims[2] = {0, 0};
  how each[2] = {how::kill, how::kill};
  std::chrono::nanoseconds after{0}, stopped{0};
};

plan draw(std::uint64_t seed, const options& o) {
  std::mt19937_64 random{seed};
  const auto below = [&](std::uint64_t n) { return random() % n; };
  plan p;
  p.scene = scenes[below(std::size(scenes))];
  p.by = static_cast<how>(below(5));
  p.victims[0] = static_cast<unsigned>(below(ranks));
  p.victims[1] = (p.victims[0] + 1 + static_cast<unsigned>(below(ranks - 1))) % ranks;
  for (how& h : p.each) h = static_cast<how>(below(3));
  // From a microsecond to tens of milliseconds, each decade alike; where there is a start or an end, all of it.
  const std::uint64_t decades[] = {10, 100, 1000, 10000, 50000};
  p.after = std::chrono::nanoseconds(1000 + below(1000 * decades[below(5)]));
  if (below(3) == 0 || p.scene == "init") p.after = std::chrono::microseconds(below(150000));
  p.stopped = std::chrono::microseconds(1000 + below(1200000));
  if (!o.scene.empty()) p.scene = o.scene;
  for (unsigned h = 0; h < 5; ++h)
    if (o.how == how_names[h]) p.by = static_cast<how>(h);
  if (p.by != how::two) p.each[0] = p.by;
  return p;
}

class trial {
 public:
  trial(const options& o, std::uint64_t seed, watchdog& dog) : o_(o), seed_(seed), plan_(draw(seed, o)), dog_(dog) {}
  bool passes();
  bool ended_by_ucx() const { return ended_by_ucx_; }  // a survivor, by an assertion of UCX

 private:
  bool start();
  template <class F>
  bool until(const F& f, std::chrono::nanoseconds longest) {
    const auto end = clock::now() + longest;
    while (!f() && clock::now() < end && !over()) std::this_thread::sleep_for(200us);
    return f();
  }
  bool over();
  void bring_death();
  void check_survivors();
  void check_leavings();
  void fail(const std::string& what) { faults_.push_back(what); }
  void hangs(const std::string& what);
  void show_stacks();
  void await_ends(const int (&pidfds)[2]);
  unsigned dying() const { return plan_.by == how::stop ? 0 : plan_.by == how::two ? 2 : 1; }
  bool dies(unsigned r) const { return (dying() > 0 && plan_.victims[0] == r) || (dying() > 1 && plan_.victims[1] == r); }

  const options& o_;
  const std::uint64_t seed_;
  const plan plan_;
  watchdog& dog_;
  std::string scratch_;
  book* book_ = nullptr;
  pid_t launcher_ = -1;
  bool over_ = false, ended_by_ucx_ = false;
  int status_ = 0;
  double latest_s_ = 0;
  std::uint64_t waited_[ranks] = {};  // when the death came
  std::uint64_t gone_ = 0;            // when the last of the victims had ended
  std::vector<std::string> faults_;
};

bool trial::start() {
  scratch_ = o_.folder + "/trial";
  if (mkdir(scratch_.c_str(), 0700) != 0) return false;
  mkdir((scratch_ + "/tmp").c_str(), 0700);
  const int file = open((scratch_ + "/book").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, book_bytes) != 0) return false;
  book_ = static_cast<book*>(mmap(nullptr, book_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  launcher_ = fork();
  if (launcher_ == 0) {
    const int out = open((scratch_ + "/said").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(out, 1), dup2(out, 2);
    setenv("TMPDIR", (scratch_ + "/tmp").c_str(), 1);
    execl(o_.tutti.c_str(), "tutti", "run", "--keep-going", "--timeout", "40", "-n", std::to_string(ranks).c_str(),
          o_.mortal.c_str(), plan_.scene.c_str(), (scratch_ + "/book").c_str(), nullptr);
    _exit(127);
  }
  return launcher_ > 0;
}

bool trial::over() {
  if (!over_ && waitpid(launcher_, &status_, WNOHANG) == launcher_) over_ = true;
  return over_;
}

void trial::hangs(const std::string& what) {
  fail(what);
  if (o_.stacks) show_stacks();
}

void trial::show_stacks() {
  const std::string launcher = std::to_string(launcher_);
  const std::string gdb = "for p in " + launcher + " $(pgrep -P " + launcher + "); do echo process $p: $(tr '\\0' ' ' </proc/$p/cmdline); "
                          "gdb -p $p -batch -ex 'thread apply all bt' 2>/dev/null | grep '^[#T]'; done";
  std::fflush(stdout);
  if (std::system(gdb.c_str()) != 0) std::printf("no stacks: is gdb here?\n");
}

void trial::bring_death() {
  const auto ready = [&] {
    if (plan_.scene != "init") return book_->ready >= ranks;
    return std::any_of(book_->rank, book_->rank + ranks, [](const book_rank& r) { return r.pid != 0; });
  };
  if (!until(ready, 20s)) return hangs("the job does not start");
  if (!until([&] { return book_->rank[plan_.victims[0]].pid && (dying() < 2 || book_->rank[plan_.victims[1]].pid); }, 5s))
    return fail("the victims do not start");
  for (const auto end = clock::now() + plan_.after; clock::now() < end;)
    if (end - clock::now() > 1ms) std::this_thread::sleep_for(500us);
  if (plan_.by == how::stop) {
    const pid_t pid = book_->rank[plan_.victims[0]].pid;
    kill(pid, SIGSTOP);
    std::this_thread::sleep_for(plan_.stopped);
    kill(pid, SIGCONT);
    until([&] { return book_->ready >= ranks; }, 10s);
    std::this_thread::sleep_for(20ms);
    book_->stop = 1;
    return;
  }
  for (unsigned r = 0; r < ranks; ++r)
    if (const pid_t pid = book_->rank[r].pid) waited_[r] = waited_for_core(pid) + waited_for_core(launcher_);
  int pidfds[2] = {-1, -1};
  for (unsigned i = 0; i < dying(); ++i)
    pidfds[i] = static_cast<int>(syscall(SYS_pidfd_open, +book_->rank[plan_.victims[i]].pid, 0));
  for (unsigned i = 0; i < dying(); ++i) book_->rank[plan_.victims[i]].ended_at = now();
  book_->dead = dying();
  for (unsigned i = 0; i < dying(); ++i) {
    const how h = plan_.each[i];
    kill(book_->rank[plan_.victims[i]].pid, h == how::kill ? SIGKILL : h == how::segv ? SIGSEGV : SIGUSR1);
  }
  await_ends(pidfds);
}

// Who was killed needs a core to end: its survivors' time counts from there on.
void trial::await_ends(const int (&pidfds)[2]) {
  for (const int fd : pidfds) {
    pollfd p{fd, POLLIN, 0};
    if (fd >= 0) poll(&p, 1, 20000), close(fd);
  }
  gone_ = now();
}

void trial::check_survivors() {
  for (unsigned r = 0; r < ranks; ++r) {
    const book_rank& b = book_->rank[r];
    const std::string me = "rank " + std::to_string(r) + " ";
    const std::string told = "told in " + std::string{b.where} + ": " + b.text;
    if (dies(r)) continue;
    if (b.told_before) fail(me + "had an error before anybody ended, " + told);
    if (!b.survived) fail(me + "did not come to its end" + (b.told_at ? ", " + told : ", and was not told"));
    if (b.descriptors_left > 0) fail(me + "left " + std::to_string(b.descriptors_left) + " descriptors");
    if (!dying()) {
      if (b.told_at) fail(me + "was " + told + "; but nobody has ended");
      continue;
    }
    if (!b.told_at) {
      if (b.survived) fail(me + "was never told");
      continue;
    }
    const double after = 1e-9 * static_cast<double>(static_cast<std::int64_t>(b.told_at - gone_));
    latest_s_ = std::max(latest_s_, after);
    if (b.told_code != 6 || b.told_peer >= ranks || !dies(b.told_peer)) fail(me + "was told wrongly, " + told);
    const double limit = limit_s + std::max(dog_.late_s(), 1e-9 * static_cast<double>(std::max(+b.waited, waited_[r]) - waited_[r]));
    if (after > limit)
      fail(me + "was told after " + std::to_string(after) + " s, " + std::to_string(limit) + " allowed, " + told);
  }
}

void trial::check_leavings() {
  for (const auto& f : files_in("/dev/shm")) fail("left in /dev/shm: " + f);
  for (const auto& f : files_in(scratch_ + "/tmp")) fail("left in the folder for temporary files: " + f);
  // Orphans are this process's, which is their subreaper; the launcher's own guardian ends with it, in a moment.
  for (const auto end = clock::now() + 2s;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) break;
    if (ended > 0) continue;
    if (clock::now() > end) {
      fail("a process is left");
      for (unsigned r = 0; r < ranks; ++r)
        if (book_->rank[r].pid && kill(book_->rank[r].pid, 0) == 0) kill(book_->rank[r].pid, SIGKILL);
      break;
    }
    std::this_thread::sleep_for(1ms);
  }
}

bool trial::passes() {
  dog_.reset();
  if (!start()) return std::fprintf(stderr, "random_deaths: cannot start a job\n"), false;
  bring_death();
  if (o_.stacks && dying() && !until([&] { return over(); }, 8s)) show_stacks();
  if (!until([&] { return over(); }, 45s)) {
    hangs("the job does not end");
    kill(launcher_, SIGKILL);
    waitpid(launcher_, &status_, 0);
  }
  check_survivors();
  check_leavings();
  std::string what = plan_.scene + ", " + how_names[static_cast<int>(plan_.by)] + " of rank " + std::to_string(plan_.victims[0]);
  if (plan_.by == how::two) what += " and " + std::to_string(plan_.victims[1]);
  what += " after " + std::to_string(plan_.after.count() / 1000) + " us";
  if (plan_.by == how::stop) what += " for " + std::to_string(plan_.stopped.count() / 1000) + " us";
  if (o_.verbose || !faults_.empty())
    std::printf("%s seed %llu: %s; told after %.0f ms, kept from a core for %.0f ms\n", faults_.empty() ? "passed" : "FAILED",
                static_cast<unsigned long long>(seed_), what.c_str(), 1e3 * latest_s_, 1e3 * dog_.late_s());
  for (const auto& f : faults_) std::printf("    %s\n", f.c_str());
  if (!faults_.empty()) {
    const std::string said = text_of(scratch_ + "/said");
    std::printf("%s", said.c_str());
    ended_by_ucx_ = said.find("Assertion") != said.npos && (said.find("tcp_ep.c") != said.npos || said.find("wireup_ep.c") != said.npos);
  }
  std::fflush(stdout);
  munmap(book_, book_bytes);
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
  return faults_.empty();
}

// Others' files in /dev/shm come and go; a fresh one is this job's alone. And no judge's file is on a disk: where others keep it
// busy, a rank or the launcher waits tens of seconds for its journal, if only to write down that it was told.
bool own_memory(const std::string& folder) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1g") == 0 && mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256m") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  for (int i = 3; i < argc; ++i) {
    const std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--verbose") o.verbose = true;
    else if (name == "--stacks") o.stacks = true;
    else if (++i, name == "--trials") o.trials = std::strtoull(value, nullptr, 10);
    else if (name == "--seed") o.seed = std::strtoull(value, nullptr, 10);
    else if (name == "--scene") o.scene = value;
    else if (name == "--how") o.how = value;
    else argc = 0;
  }
  if (argc < 3) {
    std::fprintf(stderr, "usage: random_deaths TUTTI MORTAL [--trials N] [--seed S] [--scene NAME] [--how NAME] [--verbose] [--stacks]\n");
    return 2;
  }
  o.tutti = argv[1], o.mortal = argv[2];
  char folder[] = "/tmp/random_deaths.XXXXXX";
  if (!mkdtemp(folder)) return 2;
  o.folder = folder;
  if (!own_memory(folder)) {
    std::printf("skipped: no /dev/shm of its own can be mounted\n");
    rmdir(folder);
    return 77;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  unsigned failed = 0;
  watchdog dog;
  for (std::uint64_t s = o.seed; s < o.seed + o.trials; ++s) {
    trial first{o, s, dog};
    if (first.passes()) continue;
    // UCX 1.13 can end a survivor so (providers/ucx/link.h): that is said, and the trial is given one more chance.
    if (first.ended_by_ucx() && trial{o, s, dog}.passes()) continue;
    ++failed;
  }
  std::printf("%llu trials from seed %llu, %u failed\n", static_cast<unsigned long long>(o.trials),
              static_cast<unsigned long long>(o.seed), failed);
  umount2(folder, MNT_DETACH);
  rmdir(folder);
  return failed != 0;
}
