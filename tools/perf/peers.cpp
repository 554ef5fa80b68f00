#include "tools/perf/peers.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "tools/perf/contestants.h"
#include "tools/perf/report.h"
#include "tools/perf/require.h"
#include "tools/perf/series.h"
#include "tools/perf/status_line.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

// What the command printed, as a number; nothing where it failed or printed nothing: then `words` has what it said of that.
std::optional<double> number_of(const std::string& command, std::string& words) {
  const auto text = output_of_shell(command, true, &words);
  if (!text || text->empty()) return {};
  const auto last = text->find_last_of(' ');  // of a line of figures
  return std::atof(text->c_str() + (last == text->npos ? 0 : last));
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

struct contestant {
  std::string name;
  std::string why_not;  // empty: takes part
  std::function<std::optional<double>(int ranks, double seconds, std::string& words_of_error)> median_us;
};

// A job of ours over one provider, and of its rows the first that is reported so (or as "floor") in this group, with this
// name if one is given.
contestant ourselves(const std::string& self, const std::string& scratch, std::string name, std::string provider,
                     std::string reported, std::string group = "barrier", std::string row_name = {}) {
  return {std::move(name), {}, [=](int ranks, double seconds, std::string& words) -> std::optional<double> {
    const std::string file = scratch + "/tutti.json";
    const auto ran = output_of_shell(bounded_by(seconds + 25) + self + " run -n " + std::to_string(ranks) + " " + self + " perf " +
                               (group == "barrier" ? "barrier" : "") + " --providers " + provider +
                               " --barrier chosen --quiet --seconds " + std::to_string(seconds) + " --json " + file, true, &words);
    if (!ran) return {};
    const report found = from_json(read_text(file));
    for (const perf_run& run : found.runs)
      for (const measurement& m : run.rows)
        if (m.provider == reported && m.group == group && (row_name.empty() || m.name == row_name)) return m.median;
    return {};
  }};
}

// UCX's own latency test between two processes, pinned apart: one way, the median of single trips.
contestant ucx_perftest(std::string name, std::string test, std::string tls, int iterations) {
  contestant c{std::move(name), {}, {}};
  if (!output_of_shell("command -v ucx_perftest")) c.why_not = "ucx_perftest is not installed (package ucx-utils)";
  c.median_us = [=](int, double seconds, std::string& words) -> std::optional<double> {
    const std::string port = std::to_string(20000 + getpid() % 20000);
    const std::string call = " taskset -c %s ucx_perftest %s -t " + test + " -s 8 -w 2000 -n " +
                             std::to_string(iterations) + " -p " + port;
    auto with = [&](const char* core, const char* host) {
      char text[512];
      std::snprintf(text, sizeof text, call.c_str(), core, host);
      return "UCX_TLS=" + tls + " " + bounded_by(seconds + 25) + text;
    };
    return number_of("{ " + with("0", "") + " >/dev/null & sleep 0.7; " + with("1", "127.0.0.1") +
                     " | sed -n 's/^Final:  *[0-9]*  *\\([0-9.]*\\).*/\\1/p'; wait; }", words);
  };
  return c;
}

// Libfabric's own ping-pong between two processes, pinned apart: one way, the mean of all trips.
contestant fi_pingpong(std::string name, std::string provider, int iterations) {
  contestant c{std::move(name), {}, {}};
  if (!output_of_shell("command -v fi_pingpong")) c.why_not = "fi_pingpong is not installed (package libfabric-bin)";
  c.median_us = [=](int, double seconds, std::string& words) -> std::optional<double> {
    const std::string port = std::to_string(20000 + getpid() % 20000);
    auto on = [&](const char* core, const std::string& more) {
      return bounded_by(seconds + 25) + "taskset -c " + core + " fi_pingpong -e rdm -S 8 -p '" + provider + "' -I " +
             std::to_string(iterations) + more;
    };
    return number_of("{ " + on("0", " -B " + port) + " >/dev/null & sleep 0.7; " + on("1", " -P " + port + " 127.0.0.1") +
                     " | awk '$1 == 8 {print $7}'; wait; }", words);
  };
  return c;
}

// Libfabric's own collective over one of its providers, among processes that the program starts itself.
contestant fi_barrier(const std::string& device, const std::string& provider, const std::string& self,
                      const std::string& scratch) {
  contestant c{"fi_barrier " + device, {}, {}};
  const std::string program = scratch + "/fi_barrier", source = bench_source(self, "fi_barrier.c");
  if (access(program.c_str(), X_OK) != 0 && !output_of_shell("cc -O2 -o " + program + " '" + source + "' -lfabric")) {
    c.why_not = could_not_build("cc", source) + " (package libfabric-dev)";
    return c;
  }
  const auto run = [=](int ranks, double seconds) {
    return bounded_by(seconds + 25) + program + " '" + provider + "' " + std::to_string(ranks) + " " + std::to_string(seconds);
  };
  const std::string tried = output_of_shell("{ " + run(2, 0.01) + "; true; }").value_or("");
  if (tried.empty() || !std::isdigit(static_cast<unsigned char>(tried[0])))
    c.why_not = tried.substr(0, tried.find('\n'));
  c.median_us = [=](int ranks, double seconds, std::string& words) { return number_of(run(ranks, seconds), words); };
  return c;
}

contestant an_mpi(const mpi_library& library) {
  return {library.name, library.why_not, [=](int ranks, double seconds, std::string& words) {
    return number_of(bounded_by(seconds + 25) + library.start(ranks, mpi_library::path::shared_memory) +
                     std::to_string(seconds) + " barrier:0", words);
  }};
}

void contest(const std::vector<contestant>& all, const peers_plan& plan, const std::vector<int>& ranks,
             const std::string& title) {
  std::vector<std::vector<series>> results(all.size(), std::vector<series>(ranks.size()));
  std::vector<std::vector<std::string>> words(all.size(), std::vector<std::string>(ranks.size()));
  status_line line(true);
  for (int round = 0; round < plan.rounds; ++round)
    for (std::size_t n = 0; n < ranks.size(); ++n)
      for (std::size_t c = 0; c < all.size(); ++c) {
        if (!all[c].why_not.empty()) continue;
        line.show(title.substr(0, title.find(',')) + ", round " + std::to_string(round + 1) + " of " + std::to_string(plan.rounds) + ", " +
                  std::to_string(ranks[n]) + " ranks: " + all[c].name);
        std::string said;
        if (const auto us = all[c].median_us(ranks[n], plan.seconds, said)) results[c][n].add(*us);
        else words[c][n] = std::move(said);
      }
  line.clear();

  std::printf("%s\nmedians of %d interleaved jobs of %.1f s\n\n%-14s", title.c_str(), plan.rounds, plan.seconds, "ranks");
  for (int n : ranks) std::printf("%12d", n);
  std::printf("\n");
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::printf("%-14s", all[c].name.c_str());
    for (const series& s : results[c])
      if (s.count()) std::printf("%12.2f", s.median());
      else std::printf("%12s", "-");
    std::printf("  %s\n", all[c].why_not.c_str());
  }
  for (std::size_t c = 0; c < all.size(); ++c)
    for (std::size_t n = 0; n < ranks.size(); ++n)
      if (all[c].why_not.empty() && results[c][n].count() == 0)
        print_words(all[c].name + ", " + std::to_string(ranks[n]) + " ranks,", words[c][n]);
  std::printf("\n");
  std::fflush(stdout);  // into a file or a pipe as well: the next table takes minutes
}

// Between two ranks: the vendors' own tests beside ours.
void one_way_beside_vendors(const peers_plan& plan, const std::string& scratch) {
  std::vector<contestant> ucx;
  ucx.push_back(ucx_perftest("am_lat tcp", "ucp_am_lat", "tcp,self", 50000));
  ucx.push_back(ourselves(plan.self, scratch, "barrier", "ucx:tcp", "ucx:tcp"));
  ucx.push_back(ucx_perftest("put_lat shm", "ucp_put_lat", "posix,self", 1000000));
  ucx.push_back(ourselves(plan.self, scratch, "put+signal", "ucx:shm", "ucx:shm", "one-sided", "put 8 B + signal"));
  contest(ucx, plan, {2}, "one way over UCX, microseconds: UCX's own test, then tutti, over tcp and over shared memory");

  std::vector<contestant> ofi;
  ofi.push_back(fi_pingpong("fi_pingpong", "tcp;ofi_rxm", 50000));
  ofi.push_back(ourselves(plan.self, scratch, "barrier", "ofi:tcp", "ofi:tcp"));
  contest(ofi, plan, {2}, "one way over libfabric's tcp, microseconds: libfabric's own test, then tutti");
}

}  // namespace

int compare_with_peers(const peers_plan& plan) {
  launching::scratch_folder scratch;
  require(scratch.make(launching::temporary_parent()));
  std::vector<contestant> all;
  all.push_back(ourselves(plan.self, scratch.path(), "floor", "shm", "floor"));
  all.push_back(ourselves(plan.self, scratch.path(), "tutti", "shm", "shm"));
  all.push_back(an_mpi(open_mpi(plan.self, scratch.path())));
  all.push_back(an_mpi(mpich(plan.self, scratch.path())));

  const busy_neighbour neighbour(plan.neighbour);
  contest(all, plan, plan.ranks,
          "barrier on one node, shared memory, microseconds" + std::string(plan.neighbour ? ", beside a busy process" : ""));
  if (plan.neighbour) return 0;
  if (std::ranges::find(plan.ranks, 2) != plan.ranks.end()) one_way_beside_vendors(plan, scratch.path());

  std::vector<contestant> collectives;
  for (const auto& [device, provider] : {std::pair{"tcp", "tcp;ofi_rxm"}, {"net", "net;ofi_rxm"}, {"udp", "udp;ofi_rxd"}, {"shm", "shm"}}) {
    collectives.push_back(fi_barrier(device, provider, plan.self, scratch.path()));
    const bool comparable = collectives.back().why_not.empty();
    if (comparable) collectives.push_back(ourselves(plan.self, scratch.path(), std::string{"tutti "} + device, std::string{"ofi:"} + device,
                                                    std::string{"ofi:"} + device));
  }
  contest(collectives, plan, plan.ranks, "barrier over libfabric, microseconds: its own collective where it has one, then tutti");
  return 0;
}

}  // namespace tutti::tools
