// `tutti perf mpi`: what a preloaded library (mpi/) makes of an MPI's own messages and collectives. The same benchmarks run with and
// without it, as whole jobs in turn.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/mpi/library.h"
#include "tools/perf/bare_machine.h"
#include "tools/perf/contest.h"
#include "tools/perf/contestants.h"
#include "tools/perf/messages.h"
#include "tools/perf/messages_report.h"
#include "tools/perf/require.h"
#include "tools/perf/topic.h"
#include "tools/perf/words.h"
#include "tools/process.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

struct choices {
  std::string ranks = "2,4", json;
  std::vector<std::string> mpis{"openmpi", "mpich"}, providers{"shm", "ucx:tcp"};
  double seconds = 120;
  bool threads = false;
};

constexpr const char* collectives[] = {"barrier", "broadcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter"};
const contest_cell programs[] = {{"ring", 8}, {"ring", 65536}, {"random_ring", 8}, {"random_ring", 65536}, {"integer_sort", 1 << 20}};

std::vector<contest_cell> message_cells() { return {{"latency", 8}, {"latency", 1024}, {"bandwidth", 65536}, {"bandwidth", 1 << 20}, {"rate", 8}}; }
// Of all ranks.
std::vector<contest_cell> collective_cells() {
  std::vector<contest_cell> out(std::begin(programs), std::end(programs));
  for (const char* c : collectives)
    for (const std::uint64_t bytes : {8, 1024, 65536, 1 << 20})
      if (std::string_view{c} != "barrier" || bytes == 8) out.push_back({c, std::string_view{c} == "barrier" ? 0 : bytes});
  return out;
}
// One MPI's two benchmarks, in one job after the other. Where the time runs out, the shell waits for the launcher that was asked to end, so that
// who bounds the time ends that too: Open MPI's mpirun may wait for itself for ever then.
contestant measured(std::string name, const mpi_library& messages, const mpi_library& of_all, mpi_library::path path, bool threads,
                    std::string settings) {
  return {std::move(name), messages.why_not, [=](int ranks, double seconds) {
    const std::string each = std::to_string(seconds) + (threads ? " threads" : "");
    return "sh -c 'trap \"exit 1\" TERM; " + messages.start(ranks, path, settings) + each + " " + words_of(message_cells()) + "; " +
           of_all.start(ranks, path, settings) + each + " " + words_of(collective_cells()) + "'";
  }};
}

void print(const contest& c, int ranks) {
  std::printf("\n%s, %d ranks\n%-16s%10s%12s%12s%8s\n", c.plan().title.c_str(), ranks, "", "bytes", "by MPI", "by tutti", "faster");
  std::vector<double> all, of_messages, of_all;
  for (const contest_cell& cell : c.plan().cells) {
    const bool is_message = cell.name == "latency" || cell.name == "bandwidth" || cell.name == "rate";
    if (is_message && ranks != 2) continue;  // between two ranks in any case
    std::printf("%-16s%10s", cell.name.c_str(), cell.bytes ? short_bytes(static_cast<double>(cell.bytes)).c_str() : "-");
    print_figure(c.median(1, ranks, cell), 12);
    print_figure(c.median(0, ranks, cell), 12);
    const double faster = c.ratio(1, 0, ranks, cell);
    if (faster > 0) std::printf("%8.2f", faster), all.push_back(faster), (is_message ? of_messages : of_all).push_back(faster);
    else std::printf("%8s", "-");
    std::printf("\n");
  }
  print_left_out(c);
  const auto mean = [](const char* what, const std::vector<double>& some) {
    if (some.empty()) return;
    const auto slower = std::ranges::count_if(some, [](double x) { return x < 0.95; });
    std::printf("geometric mean of %-12s%6.2f of %zu, %zu below 0.95\n", what, geometric_mean(some), some.size(), static_cast<std::size_t>(slower));
  };
  mean("messages", of_messages), mean("collectives", of_all), mean("all", all);
}

int compare(const choices& c) {
  using path = mpi_library::path;
  launching::scratch_folder scratch, more;
  require(scratch.make(launching::temporary_parent()));
  require(more.make(launching::temporary_parent()));
  const std::string self = own_path();
  std::vector<contest> all;
  bool complete = true;
  std::printf("MPI programs with and without the preloaded library, on %s; microseconds, medians of jobs in turn\n"
              "faster: MPI's time over tutti's, of jobs seconds apart\n", machine_text().c_str());
  for (const std::string& name : c.mpis) {
    const auto built = name == "openmpi" ? open_mpi : mpich;
    const mpi_library messages = built(self, scratch.path(), "mpi_messages.c"), rest = built(self, more.path(), "mpi_collectives.c");
    std::string why_not;
    const auto library = preloaded_library(name, why_not);
    for (const std::string& provider : c.providers) {
      const path p = provider == "shm" ? path::shared_memory : path::ucx_tcp;
      contestant with = measured("tutti", messages, rest, p, c.threads, "TUTTI_PROVIDER=" + provider + " LD_PRELOAD=" + library.value_or(""));
      if (!library) with.why_not = why_not;
      std::vector<contest_cell> cells = message_cells();
      for (const contest_cell& cell : collective_cells()) cells.push_back(cell);
      const auto jobs = static_cast<int>(cells.size());
      contest& one = all.emplace_back(contest_plan{.title = messages.name + " over " + (provider == "shm" ? "shared memory" : "UCX's tcp"),
                                                   .contestants = {std::move(with), measured(messages.name, messages, rest, p, c.threads, {})},
                                                   .cells = std::move(cells), .ranks = numbers(c.ranks, "--ranks", 2, 64), .jobs_cells = jobs,
                                                   .seconds = c.seconds / static_cast<double>(c.mpis.size() * c.providers.size())});
      one.measure();
      for (const int ranks : one.plan().ranks) {
        print(one, ranks);
        for (const contest_cell& cell : one.plan().cells) complete = complete && one.median(0, ranks, cell) > 0;
      }
    }
  }
  write_contests(c.json, "MPI programs with the preloaded library (tutti) and without, microseconds", all);
  return complete ? 0 : 1;
}

}  // namespace

std::function<int()> declare_mpi(options perf) {
  auto c = std::make_shared<choices>();
  options app = perf.subcommand("mpi", "messages, collectives, rings and a sort of MPI programs, with the library that `tutti mpi` preloads and without");
  app.add("-n,--ranks", c->ranks, "ranks of the jobs, as 2,4 or 2..4").shows_default();
  app.add("--mpi", c->mpis, "openmpi, mpich or both (default)").by_commas().one_of({"openmpi", "mpich"});
  app.add("--providers", c->providers, "shm, ucx:tcp or both (default): what tutti is to use, and MPI likewise").by_commas().one_of({"shm", "ucx:tcp"});
  app.add("--threads", c->threads, "programs that ask for MPI_THREAD_MULTIPLE, whose price this is");
  app.add("--seconds", c->seconds, "for everything, about").between(0.001, 36000.0).shows_default();
  app.add("--json", c->json, "write all figures to this file");
  return [c] { return compare(*c); };
}

}  // namespace tutti::tools
