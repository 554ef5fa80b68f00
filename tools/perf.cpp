// `tutti perf`: compares the providers that work here. Inside a job every rank takes part; called by itself it starts
// jobs of itself.
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "core/job/bootstrap_find.h"
#include "tools/command.h"
#include "tools/perf/peers.h"
#include "tools/perf/session.h"
#include "tools/perf/sweep.h"
#include "tools/perf/topic.h"
#include "tools/process.h"
#include "tools/tune/regret.h"

namespace tutti::tools {
namespace {

struct choices {
  std::string topic;
  std::string ranks;
  std::vector<std::string> providers;
  std::string barrier, fan_in, json, html, svg, from, progress_to;
  bool plots() const { return !html.empty() || !svg.empty(); }
  bool quiet = false, peers = false, neighbour = false, by_size = false, regret = false;
  double seconds = 0;
};

int complain(const std::string& text, int code = 1) {
  std::fprintf(stderr, "tutti perf: %s\n", text.c_str());
  return code;
}

void deliver(const choices& c, const report& r) {
  if (!c.quiet) print_tables(r, terminal_columns());
  if (!c.json.empty()) write_text(c.json, to_json(r));
  if (!c.html.empty()) write_text(c.html, to_page(r));
  if (c.svg.empty()) return;
  const std::string picture = to_picture(r);
  if (picture.empty()) throw std::runtime_error("--svg: there is neither a barrier over ranks nor a put over sizes to draw");
  write_text(c.svg, picture);
}

// All but that of which members know no size alike.
std::vector<std::string> measurable() {
  std::vector<std::string> out = collective_names();
  std::erase(out, name_of(collective::alltoallv));
  return out;
}

double default_seconds(const choices& c) {
  return !c.topic.empty() ? 10 : c.by_size ? 35 : 20;
}

int compare(const choices& c, const config& settings) {
  auto boot = find_bootstrap(settings);
  if (!boot) return complain(boot.error().text());
  auto hosts = (*boot)->allgather((*boot)->host(), time_point::max());
  if (!hosts) return complain(hosts.error().text());
  session_plan plan;
  plan.providers = c.providers.empty() ? every_provider(make_layout(**hosts).nodes() > 1) : c.providers;
  plan.only = find_collective(c.topic);
  plan.only_barrier = c.barrier;
  plan.fan_ins = numbers(c.fan_in, "--fan-in", 1, 64);
  plan.by_size = c.by_size;
  plan.seconds = c.seconds > 0 ? c.seconds : default_seconds(c);
  std::unique_ptr<FILE, int (*)(FILE*)> told(nullptr, std::fclose);
  if ((*boot)->rank() == 0 && !c.progress_to.empty()) {
    told.reset(std::fopen(c.progress_to.c_str(), "w"));
    plan.progress = [&](const std::string& text) {
      if (told) std::fprintf(told.get(), "%s\n", text.c_str()), std::fflush(told.get());
    };
  }
  session s(**boot, plan);
  s.open();
  s.measure();
  if ((*boot)->rank() == 0) deliver(c, {describe_machine(), {s.outcome()}});
  return 0;
}

int compare_in_jobs(const choices& c) {
  sweep_plan plan;
  plan.self = own_path();
  plan.ranks = numbers(!c.ranks.empty() ? c.ranks : c.plots() ? "2,4,8,16" : "4", "-n", 1, 1024);
  if (!c.topic.empty()) plan.arguments.push_back(c.topic);
  auto pass = [&](const char* name, const std::string& value) {
    if (!value.empty()) plan.arguments.insert(plan.arguments.end(), {name, value});
  };
  for (const auto& p : c.providers) pass("--providers", p);
  pass("--barrier", c.barrier);
  pass("--fan-in", c.fan_in);
  (void)numbers(c.fan_in, "--fan-in", 1, 64);
  plan.by_size = c.topic.empty() && (c.by_size || c.plots());
  plan.seconds = c.seconds;
  plan.progress = !c.quiet;
  deliver(c, sweep(plan));
  return 0;
}

int run(const choices& c) {
  if ((c.peers && !c.regret) || c.neighbour) {
    for (const auto& [given, name] : {std::pair{!c.json.empty(), "--json"}, {!c.html.empty(), "--html"}, {!c.svg.empty(), "--svg"}, {!c.from.empty(), "--from"},
                                      {!c.barrier.empty(), "--barrier"}, {!c.fan_in.empty(), "--fan-in"}, {!c.providers.empty(), "--providers"},
                                      {c.by_size, "--by-size"}, {c.quiet, "--quiet"}, {!c.topic.empty(), c.topic.c_str()}})
      if (given)
        return complain(std::string(c.peers ? "--peers" : "--neighbour") + " prints tables of the barrier, and does nothing with " + name +
                        "; leave it out, or see `tutti perf collectives --peers --help`", usage_error);
    peers_plan plan{.self = own_path(), .neighbour = c.neighbour};
    if (c.neighbour) plan.ranks = {4};
    if (!c.ranks.empty()) plan.ranks = numbers(c.ranks, "-n", 2, 1024);
    if (c.seconds > 0) plan.seconds = c.seconds;
    return compare_with_peers(plan);
  }
  if (!c.from.empty()) return deliver(c, from_json(read_text(c.from))), 0;
  auto settings = config::load();
  if (!settings) return complain(settings.error().text(), usage_error);
  if (c.regret) return measure_regret({c.ranks, c.providers, c.topic, c.seconds, c.json, c.progress_to, c.quiet, c.peers}, *settings);
  return settings->launcher().pmix ? compare(c, *settings) : compare_in_jobs(c);
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.add("topic", c->topic, "nothing: barriers, broadcasts, allreduces and one-sided operations; one collective: "
                 "that alone, at more sizes")
      .one_of(measurable());
  app.add("-n,--ranks", c->ranks, "ranks to start, when not inside a job already: a job for each of 2,4,8 "
                 "(default 4; with --html, --svg and --peers 2,4,8,16)");
  app.add("--providers,--provider", c->providers, "name[:device],...; default: every one that works here").by_commas();
  app.add("--barrier", c->barrier, "only this algorithm, or `chosen`");
  app.add("--fan-in", c->fan_in, "of the barriers that have one (or a radix): each of 2,4,8 or 1..15");
  app.add("--by-size", c->by_size, "put and get of 8 B to 4 MiB as well (part of --html and --svg)");
  app.add("--seconds", c->seconds, "how long to measure in each job (default 20, 35 over sizes, 10 for barriers; "
                 "1.5 with --peers; with --regret 20 and, where more than two ranks share a core, as much more)").between(0.001, 36000.0);
  app.add("--json", c->json, "write the numbers with their provenance to this file");
  app.add("--html", c->html, "write a page with plots to this file; nothing else is needed to read it");
  app.add("--svg", c->svg, "write a picture to this file: the barrier over ranks, and puts over sizes");
  app.add("--from", c->from, "measure nothing: show what --json has written");
  app.add("--quiet", c->quiet, "no table, no progress line");
  app.add("--peers", c->peers, "the barrier against Open MPI, MPICH and libfabric's own (fi_barrier), at 2, 4, 8 and 16 ranks, or those of -n");
  app.add("--neighbour", c->neighbour, "with --peers' contestants while another busy process shares the machine, at 4 ranks, or those of -n");
  app.add("--regret", c->regret, "time of what a job chooses over that of the best candidate, of each collective and size, at 2, 4, 8 and 16 ranks; "
          "with --peers, of what Open MPI chooses, over shared memory");
  app.add("--progress-to", c->progress_to, "").hidden();
  const auto bsp = declare_bsp(app);
  const auto each_collective = declare_collectives(app);
  const auto messages = declare_messages(app);
  const auto of_mpi = declare_mpi(app);
  const auto overlap = declare_overlap(app);
  const auto startup = declare_startup(app);
  const auto reductions = declare_reductions(app);
  return [c, app, bsp, each_collective, messages, of_mpi, overlap, startup, reductions] {
    if (app.chose("bsp")) return bsp();
    if (app.chose("overlap")) return overlap();
    if (app.chose("reductions")) return reductions();
    try {
      if (app.chose("startup")) return startup();
      if (app.chose("collectives")) return each_collective();
      if (app.chose("messages")) return messages();
      if (app.chose("mpi")) return of_mpi();
      return run(*c);
    } catch (const std::exception& e) {
      return complain(e.what());
    }
  };
}

}  // namespace

const command perf_command{"perf", "Compare the providers that work here", declare};

}  // namespace tutti::tools
