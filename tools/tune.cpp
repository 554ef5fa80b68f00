// `tutti tune`: measures the candidates of every collective and writes a table by which jobs choose. Inside a job every rank takes
// part; called by itself it starts jobs of itself.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "collectives/tuning/file.h"
#include "core/job/bootstrap_find.h"
#include "tools/command.h"
#include "tools/perf/measuring_jobs.h"
#include "tools/perf/topic.h"
#include "tools/process.h"
#include "tools/tune/measure.h"
#include "tools/tune/difference.h"

namespace tutti::tools {
namespace {

struct choices {
  std::string ranks = "2,4,8,16", output, progress_to;
  std::vector<std::string> providers, collectives, diff;
  std::vector<std::uint64_t> bytes;
  double minutes = 3;
  bool quiet = false;
};

std::string default_output() {
  const std::string folder = users_folder(process_environment());
  if (folder.empty()) throw std::runtime_error("neither XDG_CONFIG_HOME nor HOME is set; name the file by --output");
  return folder + "/tuning.json";
}

tuning::table read(const std::string& file) {
  auto table = tuning::read_file(file);
  if (!table) throw std::runtime_error(table.error().text());
  return std::move(*table);
}

// Of the rows, how many have a fastest candidate whose quartiles are far apart.
std::size_t unsteady(const tuning::table& table) {
  constexpr double wide = 0.5;
  return static_cast<std::size_t>(std::ranges::count_if(table.rows, [](const tuning::row& r) {
    return !r.timings.empty() && std::ranges::min_element(r.timings, {}, &tuning::timing::us)->spread > wide;
  }));
}

// Jobs read the usual file by themselves, so what a busy machine measured does not go there.
void deliver(const choices& c, const tuning::table& table, bool loaded = false) {
  const std::size_t wide = unsteady(table), rows = table.rows.size();
  const std::string doubt = std::to_string(wide) + " of " + std::to_string(rows) + " rows vary by more than half of their time" +
                            (loaded ? ", and the machine was loaded" : "");
  if (c.output.empty() && (loaded || 3 * wide > rows))
    throw std::runtime_error(doubt + ": not written to where jobs find it; measure on a quiet machine, or name a file by --output");
  if (!c.quiet && (loaded || wide > 0)) std::fprintf(stderr, "tutti tune: %s\n", doubt.c_str());
  const std::string file = c.output.empty() ? default_output() : c.output;
  std::error_code ignored;  // where no folder can be made the file cannot be written either, which is told
  if (c.output.empty()) std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  write_text(file, tuning::to_text(table));
  if (!c.quiet)
    std::fprintf(stderr, "tutti tune: %zu rows in %s%s\n", table.rows.size(), file.c_str(),
                 c.output.empty() ? ", where jobs find it" : "; jobs take it with TUTTI_TUNING naming it");
}

measuring_plan plan_of(const choices& c, bool several_nodes) {
  measuring_plan plan;
  plan.providers = c.providers.empty() ? every_provider(several_nodes) : c.providers;
  for (const std::string& name : c.collectives) {
    const auto of = find_collective(name);
    if (!of) throw std::runtime_error("there is no collective \"" + name + "\"; known: " + known_collectives());
    plan.collectives.push_back(*of);
  }
  plan.sizes = c.bytes;
  plan.seconds = 60 * c.minutes;
  return plan;
}

int take_part(const choices& c, const config& settings) {
  auto boot = find_bootstrap(settings);
  if (!boot) throw std::runtime_error(boot.error().text());
  auto hosts = (*boot)->allgather((*boot)->host(), time_point::max());
  if (!hosts) throw std::runtime_error(hosts.error().text());
  const progress_file told((*boot)->rank() == 0 ? c.progress_to : "");
  const tuning::table table = measure_table(**boot, plan_of(c, make_layout(**hosts).nodes() > 1), told);
  if ((*boot)->rank() == 0) deliver(c, table);
  return 0;
}

int measure_in_jobs(const choices& c) {
  const std::vector<int> ranks = numbers(c.ranks, "--ranks", 2, 1024);
  const measuring_plan plan = plan_of(c, false);
  const bool loaded = machine_is_loaded();
  measuring_jobs jobs(!c.quiet);
  const std::string part = jobs.scratch() + "/part.json";
  tuning::table all;
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t many = ranks.size() * plan.providers.size();
  std::size_t done = 0;
  for (const std::string& provider : plan.providers)
    for (const int n : ranks) {
      const double left = std::max(1.0, plan.seconds - seconds_since(begin)) / static_cast<double>(many - done);
      std::vector<std::string> words{own_path(), "run", "-n", std::to_string(n), "--timeout", "3600", own_path(), "tune", "--quiet",
                                     "--providers", provider, "--minutes", std::to_string(left / 60), "--output", part};
      for (const std::string& name : c.collectives) words.insert(words.end(), {"--collectives", name});
      for (const std::uint64_t bytes : c.bytes) words.insert(words.end(), {"--bytes", std::to_string(bytes)});
      const std::string title = "job " + std::to_string(++done) + " of " + std::to_string(many) + ", " + std::to_string(n) + " ranks: ";
      if (jobs.run(std::move(words), title)) merge(all, read(part));
      else std::fprintf(stderr, "tutti tune: the job of %d ranks over %s failed, and is left out\n", n, provider.c_str());
    }
  if (all.rows.empty()) throw std::runtime_error("nothing was measured; the jobs' own words stand above");
  deliver(c, all, loaded);
  return 0;
}

int run(const choices& c) {
  if (!c.diff.empty()) {
    if (c.diff.size() != 2) throw std::runtime_error("--diff takes two files");
    std::fputs(difference(read(c.diff[0]), read(c.diff[1])).c_str(), stdout);
    return 0;
  }
  if (const auto folder = std::filesystem::path(c.output).parent_path(); !folder.empty() && !std::filesystem::is_directory(folder))
    throw std::runtime_error("--output " + c.output + ": there is no folder " + folder.string() + "; make it first");  // not after minutes
  auto settings = config::load();
  if (!settings) throw std::runtime_error(settings.error().text());
  return settings->launcher().pmix ? take_part(c, *settings) : measure_in_jobs(c);
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  app.add("-n,--ranks", c->ranks, "ranks to measure with, a job for each; inside a job its own are taken (default 2,4,8,16)");
  app.add("--providers,--provider", c->providers, "name[:device],...; default: every one that works here").by_commas();
  app.add("--collectives", c->collectives, "only these; default: all").by_commas();
  app.add("--bytes", c->bytes, "sizes; default 8 B to 4 MiB").by_commas().sizes();
  app.add("--minutes", c->minutes, "how long to measure in all, about (default 3)").between(1e-4, 1440.0);
  app.add("-o,--output", c->output, "file to write; default: the one in the user's folder of configurations, which jobs read by themselves");
  app.add("--diff", c->diff, "two files: what changed from the first to the second").pair();
  app.add("--quiet", c->quiet, "no progress line");
  app.add("--progress-to", c->progress_to, "").hidden();
  return [c] {
    try {
      return run(*c);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "tutti tune: %s\n", e.what());
      return 1;
    }
  };
}

}  // namespace

const command tune_command{"tune", "Measure algorithms, and write the table by which jobs choose", declare};

}  // namespace tutti::tools
