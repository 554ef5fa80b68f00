// `tutti perf startup`: how long a job takes to begin. Whole jobs, one provider after the other in each round; of each, the
// time from what tutti_init() does first until the first barrier is left, in the slowest rank, and that of the whole job
// as the shell sees it: the launcher, the processes, the library, the barrier, and leaving.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "collectives/communicator.h"
#include "tools/perf/require.h"
#include "tools/perf/series.h"
#include "tools/perf/topic.h"
#include "tools/process.h"

namespace tutti::tools {
namespace {

using clock = std::chrono::steady_clock;

constexpr const char* mark = "first barrier left after ms: ";

struct choices {
  int ranks = 8, rounds = 5;
  std::vector<std::string> providers;
};

// What a rank of such a job does. Rank 0 tells the slowest one's time.
int take_part(const config& settings) {
  const auto begin = clock::now();
  const communicator_options how = communicator_options_from(settings);
  job_options options = options_from(settings);
  options.world_lines = communicator::world_lines_with(how);
  auto j = job::open(settings, std::move(options));
  if (!j) return std::fprintf(stderr, "tutti perf startup: %s\n", j.error().text()), 1;
  auto world = communicator::world(**j, how);
  if (!world) return std::fprintf(stderr, "tutti perf startup: %s\n", world.error().text()), 1;
  require((*world)->barrier().enter());
  const double mine = 1e3 * seconds_since(begin);
  const auto all = (*world)->group().exchange_values(mine);
  require(all.error());
  const double slowest = *std::ranges::max_element(*all);
  if ((*j)->rank() == 0) std::printf("%s%.3f\n", mark, slowest);
  require((*world)->group().settle());
  return 0;
}

// One job: its slowest rank's milliseconds. Nothing: it failed, and has said why.
std::optional<double> run_once(const std::string& provider, int ranks) {
  const auto out = output_of({"env", "TUTTI_PROVIDER=" + provider, own_path(), "run", "--timeout", "60", "-n",
                              std::to_string(ranks), own_path(), "perf", "startup"}, false);
  const auto at = out ? out->find(mark) : std::string::npos;
  if (at == std::string::npos) return {};
  return std::atof(out->c_str() + at + std::strlen(mark));
}

int compare(const choices& c) {
  const std::vector<std::string> providers = c.providers.empty() ? every_provider() : c.providers;
  std::vector<series> barrier(providers.size()), whole(providers.size());
  for (int round = 0; round < c.rounds; ++round)
    for (std::size_t i = 0; i < providers.size(); ++i) {
      const auto begin = clock::now();
      const auto ms = run_once(providers[i], c.ranks);
      if (!ms) return 1;
      barrier[i].add(*ms);
      whole[i].add(1e3 * seconds_since(begin));
    }
  std::printf("starting %d ranks on one node, milliseconds; medians of %d interleaved jobs (quartiles)\n\n%-12s%30s%30s\n",
              c.ranks, c.rounds, "provider", "init to first barrier", "whole job");
  const auto cell = [](const series& s) {
    char text[64];
    std::snprintf(text, sizeof text, "%.0f (%.0f to %.0f)", s.median(), s.quantile(0.25), s.quantile(0.75));
    std::printf("%30s", text);
  };
  for (std::size_t i = 0; i < providers.size(); ++i) {
    std::printf("%-12s", providers[i].c_str());
    cell(barrier[i]), cell(whole[i]);
    std::printf("\n");
  }
  return 0;
}

}  // namespace

std::function<int()> declare_startup(options perf) {
  auto c = std::make_shared<choices>();
  options app = perf.subcommand("startup", "how long jobs take to begin: to the first barrier, and from start to end");
  app.add("-n,--ranks", c->ranks, "ranks of each job (default 8)").between(1, 1024);
  app.add("--rounds", c->rounds, "jobs of each provider (default 5)").between(1, 1000);
  app.add("--providers", c->providers, "name[:device],...; default: every one that works here").by_commas();
  return [c] {
    auto settings = config::load();
    if (!settings) return std::fprintf(stderr, "tutti perf startup: %s\n", settings.error().text()), 2;
    return settings->launcher().pmix ? take_part(*settings) : compare(*c);
  };
}

}  // namespace tutti::tools
