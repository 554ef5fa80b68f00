#include "tools/tune/regret.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "core/base/json_text.h"
#include "core/job/bootstrap_find.h"
#include "tools/perf/measuring_jobs.h"
#include "tools/perf/numbers.h"
#include "tools/perf/topic.h"
#include "tools/perf/words.h"
#include "tools/process.h"
#include "tools/tune/contest.h"
#include "tools/tune/measure.h"
#include "tools/tune/regret_peers.h"

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t sizes[] = {8, 1 << 10, 64 << 10, 1 << 20};
constexpr double chunk = 1e-3;  // seconds
constexpr int least_rounds = 5;

json measure(measured_provider& p, collective of, std::chrono::steady_clock::time_point end, const progress_file& told) {
  std::vector<text_pair> left_out;
  tournament t(p, of, sizes, left_out);
  t.add_chosen_twice();
  for (int round = 1;; ++round) {
    told.say(p.name() + ", " + std::string(name_of(of)) + ", round " + std::to_string(round));
    t.round(chunk, end);
    const bool enough = round >= least_rounds && std::chrono::steady_clock::now() > end;
    if (share(p.world().group(), enough ? 1 : 0) != 0) break;
  }
  json out = json::array();
  for (const size_contest& one : t.contests()) {
    const auto measured = std::ranges::count_if(one.all, [](const timed_candidate& c) { return c.us.count() > 0; });
    if (measured < 3) continue;  // not reached in time
    const auto [chosen, spread] = one.chosen();
    const timed_candidate& best = one.best();
    out.push_back({{"provider", p.name()}, {"ranks", p.of().size()}, {"collective", name_of(of)}, {"bytes", one.bytes},
                   {"chosen", to_string(one.all.front().what)}, {"chosen_us", chosen}, {"best", to_string(best.what)},
                   {"best_us", typical(best.us)}, {"spread", spread}, {"candidates", measured - 2}});
  }
  return out;
}

std::vector<collective> wanted_by(const regret_plan& plan) {
  std::vector<collective> all;
  for (unsigned i = 0; i < collectives; ++i)
    if (plan.only.empty() || plan.only == name_of(static_cast<collective>(i))) all.push_back(static_cast<collective>(i));
  return all;
}

int take_part(const regret_plan& plan, const config& settings) {
  auto boot = find_bootstrap(settings);
  if (!boot) throw std::runtime_error(boot.error().text());
  const progress_file told((*boot)->rank() == 0 ? plan.progress_to : "");
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<collective> all = wanted_by(plan);
  json out = json::array();
  std::size_t parts = plan.providers.size() * all.size();
  for (const std::string& spec : plan.providers) {
    driven_jobs driven;
    auto p = measured_provider::open(**boot, driven, spec, mebibyte);
    if (!p) throw std::runtime_error(p.error().text());
    for (const collective of : all) {
      const double left = std::max(0.0, plan.seconds - seconds_since(begin)) / static_cast<double>(parts--);
      const auto end = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(left));
      for (json& one : measure(**p, of, end, told)) out.push_back(std::move(one));
    }
    require((*p)->world().group().settle());
  }
  if ((*boot)->rank() == 0) write_text(plan.json, out.dump(1) + "\n");
  return 0;
}

void print(const json& rows) {
  std::printf("%-10s %5s  %-14s %8s  %10s %-28s %10s %-28s %6s %6s\n", "provider", "ranks", "collective", "bytes", "chosen us", "", "best us", "",
              "regret", "spread");
  std::vector<double> regrets;  // where something was chosen
  double beyond = 0;
  for (const json& r : rows) {
    const double chosen = quantity(r.at("chosen_us")), best = quantity(r.at("best_us")), spread = quantity(r.at("spread"));
    if (best <= 0 || chosen <= 0) continue;
    const double regret = chosen / best;
    std::printf("%-10s %5u  %-14s %8s  %10s %-28s %10s %-28s %6.2f %6.2f\n", r.at("provider").get<std::string>().c_str(),
                count<std::uint32_t>(r.at("ranks")), r.at("collective").get<std::string>().c_str(),
                r.at("bytes") == 0 ? "" : short_bytes(quantity(r.at("bytes"))).c_str(), short_number(chosen).c_str(),
                r.at("chosen").get<std::string>().c_str(), short_number(best).c_str(), r.at("best").get<std::string>().c_str(), regret, spread);
    if (count<std::uint64_t>(r.at("candidates")) < 2) continue;
    regrets.push_back(regret), beyond = std::max(beyond, regret / spread);
  }
  if (!regrets.empty())
    std::printf("%zu choices: geometric mean of the regret %.3f, worst %.2f, worst beyond the spread of one candidate measured twice %.2f\n",
                regrets.size(), geometric_mean(regrets), std::ranges::max(regrets), beyond);
}

json measure_each(const regret_plan& plan, const std::vector<int>& ranks) {
  measuring_jobs jobs(!plan.quiet);
  const std::string part = jobs.scratch() + "/part.json";
  json all = json::array();
  for (const std::string& provider : plan.providers)
    for (const int n : ranks) {
      const double turns = n / static_cast<double>(std::max(1u, std::thread::hardware_concurrency()));
      const double seconds = plan.seconds > 0 ? plan.seconds : 20 * std::max(1.0, turns / 2);
      std::vector<std::string> words{own_path(), "run", "-n", std::to_string(n), "--timeout", "3600", own_path(), "perf", "--regret", "--quiet",
                                     "--providers", provider, "--seconds", std::to_string(seconds), "--json", part};
      if (!plan.only.empty()) words.push_back(plan.only);
      if (!jobs.run(std::move(words), std::to_string(n) + " ranks: ")) {
        std::fprintf(stderr, "tutti perf: the job of %d ranks over %s failed\n", n, provider.c_str());
        continue;
      }
      for (json& one : parse_json<json>(read_text(part))) all.push_back(std::move(one));
    }
  return all;
}

int measure_in_jobs(const regret_plan& plan) {
  const std::vector<int> ranks = numbers(plan.ranks.empty() ? "2,4,8,16" : plan.ranks, "--ranks", 2, 1024);
  json all = plan.peers ? regret_of_open_mpi(wanted_by(plan), ranks, sizes, plan.seconds, plan.quiet) : measure_each(plan, ranks);
  if (all.empty()) throw std::runtime_error("no job succeeded; its own words stand above");
  if (!plan.quiet) print(all);
  if (!plan.json.empty()) write_text(plan.json, all.dump(1) + "\n");
  return 0;
}

}  // namespace

int measure_regret(const regret_plan& given, const config& settings) {
  regret_plan plan = given;
  if (plan.peers && plan.seconds <= 0) plan.seconds = 0.1;
  if (plan.peers) return measure_in_jobs(plan);
  if (plan.providers.empty()) plan.providers = every_provider();
  if (!settings.launcher().pmix) return measure_in_jobs(plan);
  if (plan.seconds <= 0) plan.seconds = 20;
  return take_part(plan, settings);
}

}  // namespace tutti::tools
