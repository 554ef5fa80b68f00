// Fails the k-th system call, allocation or vendor call of one rank of a job of two, for every k until a run passes untouched,
// and says what came of each. See README.md.
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/faults/adapters.h"
#include "tests/faults/injection.h"
#include "tests/faults/job.h"
#include "tests/faults/known.h"
#include "tutti.h"

using namespace tutti::test;

namespace {

constexpr double hang_after_s = 12, slow_after_s = 4;

struct trial_page {
  injection fault;
  rank_report reports[job_ranks];
  meeting met;
};

struct plan {
  std::string provider = "shm";
  fault kind = fault::system_call;
  std::uint64_t from = 1, to = ~std::uint64_t{0}, every = 1, burst = 1;
  std::uint32_t variant = 0, rank = 1;
  rlim_t descriptors = 0, address_space = 0;  // 0: no limit
  bool all_ranks = false;                     // they bind all ranks, not the failing one alone
  bool verbose = false, stacks = false;
};

enum class verdict { untouched, absorbed, told, silent, unnamed, slow, hang, crash, leftover };
constexpr const char* names[] = {"untouched", "ok", "error told", "SILENT", "UNNAMED", "SLOW", "HANG", "CRASH", "LEFTOVER"};

struct outcome {
  verdict what = verdict::untouched;
  std::string detail;
};

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::set<std::string> shared_files() {
  std::set<std::string> out;
  if (DIR* d = opendir("/dev/shm")) {
    while (const dirent* e = readdir(d)) out.insert(e->d_name);
    closedir(d);
  }
  return out;
}

// A file of /dev/shm that bears the process's number, as libfabric's and UCX's do.
std::string left_by(const std::vector<pid_t>& ranks, const std::set<std::string>& before) {
  for (const std::string& file : shared_files())
    for (const pid_t p : ranks)
      if (!before.count(file) && file.find(std::to_string(p)) != file.npos) return file;
  return {};
}

void limit(int what, rlim_t n) {
  rlimit l;
  if (n == 0 || getrlimit(what, &l) != 0) return;
  l.rlim_cur = n;
  setrlimit(what, &l);
}

// The functions that the frame is in, the innermost first, by binutils.
std::string place(const injection::frame& f) {
  char command[300], line[200];
  std::snprintf(command, sizeof command, "addr2line -Cfipe '%s' 0x%llx 2>&1", f.object, static_cast<unsigned long long>(f.offset));
  std::string out;
  if (FILE* p = popen(command, "r")) {
    if (std::fgets(line, sizeof line, p)) out.assign(line, std::strcspn(line, "\n"));
    pclose(p);
  }
  const char* base = std::strrchr(f.object, '/');
  return (base ? base + 1 : f.object) + (": " + out);
}

// Whether a library other than tutti's made the call that failed. What C++'s own does, it does for tutti.
bool by_vendor(const injection& f) {
  for (int i = 0; i < f.depth; ++i) {
    const char* slash = std::strrchr(f.frames[i].object, '/');
    const std::string name = slash ? slash + 1 : f.frames[i].object;
    if (name.starts_with("faults_") || name.starts_with("libstdc++") || name.starts_with("libc.")) continue;
    return name.find("tutti") == name.npos;
  }
  return false;
}

// The error of the rank whose call failed says so: by the words of errno, or that there was no memory. What a vendor's library
// makes of a failure of its own has some text.
bool told_cause(const rank_report& r, const injection& f) {
  const std::string text = r.text;
  if (text.empty()) return false;
  if (r.code == TUTTI_PEER_DEAD || f.kind == fault::vendor_call || by_vendor(f)) return true;
  // A connection that was given up for want of memory costs the peer its operations, and the peer may be the first to say so.
  const bool connection_lost = adapters && text.find("when their connection broke") != text.npos;
  if (f.kind == fault::allocation || f.kind == fault::any_allocation)
    return text.find("memory") != text.npos || connection_lost;
  return f.kind == fault::none || text.find(strerror(f.error)) != text.npos || text.find(f.call) != text.npos ||
         (f.error == ENOMEM && text.find("no memory") != text.npos);
}

// Why this end is not tutti's to prevent; empty: it is.
std::string_view known(const plan& p, const trial_page& page, verdict v) {
  for (const known_fault& k : known_faults)
    if (p.provider.starts_with(k.provider) && k.ends == names[static_cast<int>(v)] &&
        k.call == page.fault.call &&
        (by_vendor(page.fault) || k.ends == std::string_view{"LEFTOVER"}))
      return k.reason;
  return {};
}

outcome judge(const plan& p, const trial_page& page, const int (&status)[job_ranks], const bool (&hung)[job_ranks],
              const std::string& left) {
  const auto text = [](const rank_report& r) {
    return std::string(r.during) + ": " + (r.code ? r.text : *r.wrong ? r.wrong : "ok");
  };
  const rank_report &mine = page.reports[p.rank], &other = page.reports[1 - p.rank];
  const std::string both = "the failing rank: " + text(mine) + " | the other: " + text(other);
  for (std::uint32_t r = 0; r < job_ranks; ++r)
    if (hung[r]) return {verdict::hang, "rank " + std::to_string(r) + " hangs in " + page.reports[r].during.load() + " | " + both};
  for (std::uint32_t r = 0; r < job_ranks; ++r)
    if (!WIFEXITED(status[r]) || WEXITSTATUS(status[r]) != 0 || !page.reports[r].ended)
      return {verdict::crash, "rank " + std::to_string(r) + " in " + page.reports[r].during.load() + ": " +
                                  (WIFSIGNALED(status[r]) ? strsignal(WTERMSIG(status[r]))
                                                          : "exit status " + std::to_string(WEXITSTATUS(status[r])))};
  if (!left.empty()) return {verdict::leftover, "/dev/shm/" + left + " | " + both};
  for (const rank_report& r : page.reports)  // an operation without a request tells its error later
    if (*r.wrong && !mine.code && !other.code) return {verdict::silent, r.wrong};
  const double took = std::max(mine.seconds, other.seconds) - mine.waited - other.waited;  // each waits for the other as well
  if (took > slow_after_s) return {verdict::slow, std::to_string(took) + " s | " + both};
  if (mine.code && p.burst == 1 && !told_cause(mine, page.fault)) return {verdict::unnamed, both};
  const bool blames = other.peer == p.rank || std::strstr(other.text, ("rank " + std::to_string(p.rank)).c_str());
  if (other.code && !p.all_ranks && !blames && other.code != TUTTI_PEER_DEAD) return {verdict::unnamed, both};
  if (adapters) return {mine.code || other.code ? verdict::told : page.fault.failed ? verdict::absorbed : verdict::untouched, both};
  if (mine.descriptors > 0 && page.fault.failed)
    return {verdict::leftover, std::to_string(mine.descriptors) + " descriptors | " + both};
  if (mine.threads > 0) return {verdict::leftover, std::to_string(mine.threads) + " threads | " + both};
  if (mine.code || other.code) return {verdict::told, both};
  return {page.fault.failed ? verdict::absorbed : verdict::untouched, both};
}

outcome run_trial(const plan& p, std::uint64_t k, trial_page& page) {
  static std::uint64_t serial = 0;
  new (&page) trial_page;
  page.fault.kind = p.kind, page.fault.fail_at = k, page.fault.fail_until = k + p.burst - 1, page.fault.variant = p.variant;
  const std::string id = "faults." + std::to_string(getpid()) + "." + std::to_string(++serial);
  const auto before = shared_files();
  std::vector<pid_t> ranks;
  page.fault.one_thread = adapters;
  for (std::uint32_t r = 0; r < job_ranks; ++r) {
    const pid_t child = r > 0 && adapters ? ranks[0] : fork();
    if (child == 0 && adapters) {
      prepare_adapters();
      std::vector<std::thread> all;
      for (std::uint32_t i = 0; i < job_ranks; ++i)
        all.emplace_back([&, i] {
          run_rank(i, id.c_str(), p.provider.c_str(), page.met, i == p.rank ? &page.fault : nullptr, page.reports[i]);
          page.met.gone[i] = true;
        });
      for (std::thread& t : all) t.join();
      _exit(0);
    }
    if (child == 0) {
      if (r == p.rank || p.all_ranks) limit(RLIMIT_NOFILE, p.descriptors), limit(RLIMIT_AS, p.address_space);
      run_rank(r, id.c_str(), p.provider.c_str(), page.met, r == p.rank ? &page.fault : nullptr, page.reports[r]);
      _exit(0);
    }
    ranks.push_back(child);
  }
  int status[job_ranks] = {};
  bool hung[job_ranks] = {};
  const double end = now() + hang_after_s;
  bool ended[job_ranks] = {};
  const std::uint32_t processes = adapters ? 1 : job_ranks;
  for (std::uint32_t alive = processes; alive > 0;) {
    for (std::uint32_t r = 0; r < processes; ++r) {
      if (ended[r] || waitpid(ranks[r], &status[r], WNOHANG) != ranks[r]) continue;
      page.met.gone[r] = ended[r] = true;
      --alive;
    }
    if (now() > end)
      for (std::uint32_t r = 0; r < job_ranks; ++r)
        if (!page.reports[r].ended && !ended[r] && !hung[r]) {
          const std::string gdb = "gdb -p " + std::to_string(ranks[r]) + " -batch -ex 'thread apply all bt' 2>&1 | grep '^[#T]' >&2";
          if (p.stacks && std::system(gdb.c_str()) != 0) std::fprintf(stderr, "no stacks: is gdb here?\n");
          hung[r] = true, kill(ranks[r], SIGKILL);
        }
    const timespec nap{0, 500'000};
    nanosleep(&nap, nullptr);
  }
  if (adapters) status[1] = status[0];
  return judge(p, page, status, hung, left_by(ranks, before));
}

void print(const plan& p, std::uint64_t k, const trial_page& page, const outcome& o) {
  std::printf("%-10s k=%llu %s", names[static_cast<int>(o.what)], static_cast<unsigned long long>(k), p.provider.c_str());
  if (page.fault.failed) std::printf(" %s (%s)", page.fault.call, p.kind == fault::vendor_call ? std::to_string(page.fault.error).c_str() : strerror(page.fault.error));
  std::printf(" %s\n", o.detail.c_str());
  if (o.what == verdict::told || o.what == verdict::absorbed || o.what == verdict::untouched) return;
  for (int i = 0; i < page.fault.depth; ++i) {
    const std::string at = place(page.fault.frames[i]);
    if (at.find("tutti::") != at.npos && at.find("tutti::test") == at.npos) std::printf("    at %s\n", at.c_str());
  }
  std::fflush(stdout);
}

int usage() {
  std::printf(
      "faults_campaign [PROVIDER] [KIND] [OPTION...]: fails the k-th call of one rank of a job of two, for each k\n"
      "  PROVIDER      as TUTTI_PROVIDER names it; shm\n"
      "  KIND          system (default), memory, all-memory (the vendors' too), vendor, or limits: ulimit -n 3 to 40 and\n"
      "                ulimit -v 20 to 400 MiB, in one rank and in both\n"
      "  --every N     each N-th k     --from K, --to K   only these     --burst N   N calls in a row fail\n"
      "  --variant N   which of the errors that a call can give          --rank R    the rank that it happens to; 1\n"
      "  --verbose     every trial, not the bad ones alone               --stacks    gdb's, of ranks that hang\n"
      "Exit status 1: a trial ended as it must not (README.md).\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("IPATH_NO_BACKTRACE", "1", 1);  // libpsm would take the signals
  plan p;
  if (adapters) p.provider = "verbs", prepare_adapters();  // a trial's own take the folder of these, which goes with this process
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::map<std::string, fault> kinds = {{"system", fault::system_call}, {"memory", fault::allocation},
                                              {"all-memory", fault::any_allocation}, {"vendor", fault::vendor_call},
                                              {"limits", fault::none}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = [&] { return std::strtoull(words.at(++i).c_str(), nullptr, 10); };
    if (words[i] == "--every") p.every = number();
    else if (words[i] == "--from") p.from = number();
    else if (words[i] == "--to") p.to = number();
    else if (words[i] == "--burst") p.burst = number();
    else if (words[i] == "--variant") p.variant = static_cast<std::uint32_t>(number());
    else if (words[i] == "--rank") p.rank = static_cast<std::uint32_t>(number()) % job_ranks;
    else if (words[i] == "--verbose") p.verbose = true;
    else if (words[i] == "--stacks") p.stacks = true;
    else if (words[i] == "--help") return usage();
    else if (kinds.count(words[i])) p.kind = kinds.at(words[i]);
    else p.provider = words[i];
  }
  void* at = mmap(nullptr, sizeof(trial_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& page = *static_cast<trial_page*>(at);
  std::map<verdict, std::uint64_t> counts;
  std::map<std::string, std::uint64_t> excused;
  bool bad = false;
  const auto take = [&](std::uint64_t k) {
    const outcome o = run_trial(p, k, page);
    const std::string_view reason = known(p, page, o.what);
    if (!reason.empty()) ++excused[std::string(page.fault.call) + ": " + std::string(reason)];
    else ++counts[o.what];
    const bool wrong = o.what >= verdict::silent && reason.empty();
    bad = bad || wrong;
    if (wrong || p.verbose) print(p, k, page, o);
    return page.fault.failed.load();
  };
  std::uint64_t k = p.from;
  if (p.kind == fault::none) {
    for (const bool all : {false, true}) {
      p.all_ranks = all;
      for (rlim_t n = 3; n <= 40; n += p.every) p.descriptors = n, take(n);
      p.descriptors = 0;
      for (rlim_t mib = 20; mib <= 400; mib += 20 * p.every) p.address_space = mib << 20, take(mib);
      p.address_space = 0;
    }
  } else {
    while (k <= p.to && take(k)) k += p.every;
  }
  std::printf("%s, %s:", p.provider.c_str(), std::find_if(kinds.begin(), kinds.end(), [&](auto& x) { return x.second == p.kind; })->first.c_str());
  for (const auto& [what, n] : counts) std::printf(" %s %llu", names[static_cast<int>(what)], static_cast<unsigned long long>(n));
  std::printf("; k to %llu\n", static_cast<unsigned long long>(k));
  for (const auto& [what, n] : excused) std::printf("    known, %llu times, %s\n", static_cast<unsigned long long>(n), what.c_str());
  return bad;
}
