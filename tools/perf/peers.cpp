#include "tools/perf/peers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tools/perf/series.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

// Standard output of a shell command, or nothing if it fails. Everything called here is bounded by timeout(1).
std::optional<std::string> output_of(const std::string& command) {
  FILE* p = popen((command + " 2>/dev/null").c_str(), "r");
  if (!p) return {};
  std::string text;
  char buffer[4096];
  for (std::size_t n; (n = fread(buffer, 1, sizeof buffer, p)) > 0;) text.append(buffer, n);
  if (pclose(p) != 0) return {};
  return text;
}

class busy_neighbour {
 public:
  explicit busy_neighbour(bool wanted) {
    if (!wanted) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) asm volatile("");
    }
  }
  ~busy_neighbour() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  busy_neighbour(const busy_neighbour&) = delete;
  busy_neighbour& operator=(const busy_neighbour&) = delete;

 private:
  pid_t pid_ = -1;
};

class scratch_folder {
 public:
  scratch_folder() {
    char name[] = "/tmp/tutti-peers-XXXXXX";
    if (const char* made = mkdtemp(name)) path_ = made;
  }
  ~scratch_folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct contestant {
  std::string name;
  std::string why_not;  // empty: takes part
  std::function<std::optional<double>(int ranks, double seconds)> median_us;
};

std::string bound(double seconds) {
  return "timeout -k 2 " + std::to_string(static_cast<int>(seconds) + 25) + " ";
}

contestant ourselves(const std::string& self, const fs::path& scratch, std::string name, std::string row_of) {
  return {std::move(name), {}, [=](int ranks, double seconds) -> std::optional<double> {
    const std::string file = scratch / "tutti.json";
    const auto ran = output_of(bound(seconds) + self + " run -n " + std::to_string(ranks) + " " + self +
                               " perf --providers shm --barriers-only --barrier chosen --quiet --seconds " +
                               std::to_string(seconds) + " --json " + file);
    if (!ran) return {};
    std::ifstream in(file);
    const auto report = nlohmann::json::parse(in, nullptr, false);
    if (report.is_discarded()) return {};
    for (const auto& r : report["rows"])
      if ((r["lane"] == "floor") == (row_of == "floor")) return r["median"].get<double>();
    return {};
  }};
}

contestant an_mpi(std::string name, const std::string& compiler, const std::string& launcher, const fs::path& scratch) {
  contestant c{std::move(name), {}, {}};
  const std::string program = scratch / (compiler + ".bench");
  const auto built = output_of(compiler + " -O2 -o " + program + " " + TUTTI_BENCH_DIR + "/mpi_barrier.c && echo built");
  if (!built) c.why_not = compiler + " is not installed or could not build " TUTTI_BENCH_DIR "/mpi_barrier.c";
  c.median_us = [=](int ranks, double seconds) -> std::optional<double> {
    std::string start = launcher;
    if (const auto at = start.find("BIND"); at != start.npos)
      start.replace(at, 4, ranks <= static_cast<int>(std::thread::hardware_concurrency()) ? "--bind-to core" : "--bind-to none");
    const auto text = output_of(bound(seconds) + start + " -n " + std::to_string(ranks) + " " + program + " " +
                                std::to_string(seconds));
    if (!text) return {};
    return std::atof(text->c_str());
  };
  return c;
}

}  // namespace

int compare_with_peers(const peers_plan& plan) {
  const scratch_folder scratch;
  const std::string root = getuid() == 0 ? "--allow-run-as-root " : "";
  std::vector<contestant> all;
  all.push_back(ourselves(plan.self, scratch.path(), "floor", "floor"));
  all.push_back(ourselves(plan.self, scratch.path(), "tutti", "shm"));
  all.push_back(an_mpi("Open MPI", "mpicc.openmpi",
                       "mpirun.openmpi " + root + "--oversubscribe BIND --mca mpi_yield_when_idle 1", scratch.path()));
  all.push_back(an_mpi("MPICH", "mpicc.mpich", "mpiexec.mpich", scratch.path()));

  const busy_neighbour neighbour(plan.neighbour);
  std::vector<std::vector<series>> results(all.size(), std::vector<series>(plan.ranks.size()));
  for (int round = 0; round < plan.rounds; ++round)
    for (std::size_t n = 0; n < plan.ranks.size(); ++n)
      for (std::size_t c = 0; c < all.size(); ++c) {
        if (!all[c].why_not.empty()) continue;
        std::fprintf(stderr, "\r\033[Kround %d of %d, %d ranks: %s", round + 1, plan.rounds, plan.ranks[n],
                     all[c].name.c_str());
        if (const auto us = all[c].median_us(plan.ranks[n], plan.seconds)) results[c][n].add(*us);
      }
  std::fprintf(stderr, "\r\033[K");

  std::printf("barrier on one node, shared memory, microseconds: medians of %d interleaved jobs of %.1f s%s\n\n",
              plan.rounds, plan.seconds, plan.neighbour ? ", a busy stranger beside them" : "");
  std::printf("%-12s", "ranks");
  for (int n : plan.ranks) std::printf("%12d", n);
  std::printf("\n");
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::printf("%-12s", all[c].name.c_str());
    for (const series& s : results[c])
      if (s.count()) std::printf("%12.2f", s.median());
      else std::printf("%12s", "-");
    std::printf("%s\n", all[c].why_not.c_str());
  }
  return 0;
}

}  // namespace tutti::tools
