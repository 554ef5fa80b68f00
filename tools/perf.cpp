// `tutti perf`: compares the providers that work here. Inside a job every rank takes part; called by itself it starts
// a job of itself first.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <cstdio>
#include <memory>

#include "core/bootstrap_find.h"
#include "core/provider.h"
#include "tools/command.h"
#include "tools/perf/bsp.h"
#include "tools/perf/peers.h"
#include "tools/perf/report.h"

namespace tutti::tools {
namespace {

struct choices {
  int ranks = 4;
  std::vector<std::string> providers;
  std::string barrier, json;
  bool barriers_only = false, quiet = false, peers = false, neighbour = false;
  double seconds = 0;
};

std::string self() {
  char path[PATH_MAX];
  const auto n = readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "tutti";
}

std::vector<std::string> every_provider() {
  std::vector<std::string> out;
  for (const provider_entry& e : providers()) {
    std::string why;
    if (!e.impl || e.name == "sim") continue;  // the simulated fabric has no speed of its own
    for (const auto& device : e.impl->probe(why))
      out.push_back(device.empty() ? std::string(e.name) : std::string(e.name) + ":" + device);
  }
  return out;
}

int start_job(const choices& c) {
  std::vector<std::string> words{self(), "run", "-n", std::to_string(c.ranks), self(), "perf"};
  auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  for (const auto& p : c.providers) option("--providers", p);
  option("--barrier", c.barrier);
  option("--json", c.json);
  if (c.seconds > 0) option("--seconds", std::to_string(c.seconds));
  if (c.barriers_only) words.push_back("--barriers-only");
  if (c.quiet) words.push_back("--quiet");
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  std::perror("tutti perf: cannot start the launcher");
  return 1;
}

int compare(const choices& c, const config& settings) {
  auto boot = find_bootstrap(settings);
  if (!boot) {
    std::fprintf(stderr, "tutti perf: %s\n", boot.error().text());
    return 1;
  }
  session_plan plan;
  plan.lanes = c.providers.empty() ? every_provider() : c.providers;
  plan.only_barrier = c.barrier;
  plan.barriers_only = c.barriers_only;
  plan.seconds = c.seconds > 0 ? c.seconds : 20;
  plan.progress = !c.quiet && isatty(2);
  try {
    session s(**boot, settings, plan);
    s.open();
    s.measure();
    if ((*boot)->rank() == 0) {
      if (!c.quiet) print_table(s, (*boot)->size());
      if (!c.json.empty()) write_json(s, (*boot)->size(), c.json);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tutti perf: rank %u: %s\n", (*boot)->rank(), e.what());
    return 1;
  }
  return 0;
}

std::function<int()> declare(CLI::App& app) {
  auto c = std::make_shared<choices>();
  app.add_option("-n,--ranks", c->ranks, "ranks to start, when not inside a job already")->check(CLI::Range(1, 1024));
  app.add_option("--providers", c->providers, "name[:device],...; default: every one that works here")->delimiter(',');
  app.add_option("--barrier", c->barrier, "only this algorithm, or `chosen`");
  app.add_flag("--barriers-only", c->barriers_only, "no one-sided operations");
  app.add_option("--seconds", c->seconds, "how long to measure (default 20; 1.5 a job with --peers)");
  app.add_option("--json", c->json, "write the numbers with their provenance to this file");
  app.add_flag("--quiet", c->quiet, "no table, no progress line");
  app.add_flag("--peers", c->peers, "the barrier against Open MPI and MPICH, at 2, 4, 8 and 16 ranks");
  app.add_flag("--neighbour", c->neighbour, "with --peers' contestants while a busy stranger shares the machine");
  const auto bsp = declare_bsp(app);
  const CLI::App* const bsp_app = app.get_subcommand("bsp");
  return [c, bsp, bsp_app] {
    if (bsp_app->parsed()) return bsp();
    if (c->peers || c->neighbour) {
      peers_plan plan{.self = self(), .neighbour = c->neighbour};
      if (c->neighbour) plan.ranks = {4};
      if (c->seconds > 0) plan.seconds = c->seconds;
      return compare_with_peers(plan);
    }
    auto settings = config::load();
    if (!settings) {
      std::fprintf(stderr, "tutti perf: %s\n", settings.error().text());
      return usage_error;
    }
    if (!settings->launcher().pmix && c->ranks > 1) return start_job(*c);
    return compare(*c, *settings);
  };
}

}  // namespace

const command perf_command{"perf", "Compare the providers that work here", declare};

}  // namespace tutti::tools
