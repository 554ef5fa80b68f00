#include "tools/sim_page/regret_text.h"

#include <algorithm>
#include <cstdio>

#include "tools/perf/series.h"
#include "tools/sim/regret.h"
#include "tools/sim_page/complain.h"

namespace tutti::tools {
namespace {

constexpr std::uint64_t regret_sizes[] = {8, 128, 1 << 10, 8 << 10, 64 << 10, 1 << 20};

struct wrongly {
  std::vector<double> at_once, online;
};

void print(const sim_choice& s, bool details) {
  std::printf("%-14s %5u %8llu  %10.2f %-24s %10.2f %-24s %6.3f\n", std::string(name_of(s.of)).c_str(), s.ranks,
              static_cast<unsigned long long>(s.bytes), s.chosen().us, s.chosen().name.c_str(), s.best().us, s.best().name.c_str(), s.regret());
  for (const auto& t : s.all)
    if (details) std::printf("    %-24s %10.2f us, price %10.2f, %5.2f\n", t.name.c_str(), t.us, t.price_us, t.price_us / t.us);
  std::fflush(stdout);
}

using sim_page::complain;

}  // namespace

int tell_sim_regret(const sim_regret_plan& c) {
  if (!(c.wrong > 0))
    std::printf("%-14s %5s %8s  %10s %-24s %10s %-24s %6s\n", "collective", "ranks", "bytes", "chosen us", "", "best us", "", "regret");
  std::vector<double> all;
  sim::parameters machine = c.machine;
  machine.queue_depth = 4096;
  const std::vector<misjudged> constants = c.wrong > 0 ? each_misjudged(machine, c.wrong) : std::vector<misjudged>{};
  std::vector<wrongly> by_wrong(constants.size());
  for (unsigned i = 0; i < collectives; ++i) {
    const auto of = static_cast<collective>(i);
    if (!c.only.empty() && c.only != name_of(of)) continue;
    for (const std::uint32_t ranks : c.ranks) {
      machine.ranks = ranks;
      auto measured = measure_choices(machine, of, regret_sizes);
      if (!measured) return complain(measured.error().text());
      if (!(c.wrong > 0))
        for (const sim_choice& s : *measured) print(s, c.details);
      std::erase_if(*measured, [](const sim_choice& s) { return s.all.size() < 2; });
      for (const sim_choice& s : *measured) all.push_back(s.regret());
      for (std::size_t k = 0; k < constants.size() && of != collective::barrier && !measured->empty(); ++k) {
        const auto wrong = measure_misjudged(machine, constants[k], *measured);
        if (!wrong) return complain(wrong.error().text());
        for (const misjudged_choice& r : *wrong) by_wrong[k].at_once.push_back(r.at_once), by_wrong[k].online.push_back(r.online);
      }
    }
  }
  if (all.empty()) return std::printf("0 choices\n"), 0;
  std::printf("%zu choices: geometric mean of the regret %.3f, worst %.3f\n", all.size(), geometric_mean(all), std::ranges::max(all));
  if (!constants.empty()) std::printf("%-24s %8s   %-20s %-20s\n", "the chooser's", "times", "chosen: mean, worst", "online: mean, worst");
  for (std::size_t k = 0; k < constants.size(); ++k)
    if (const auto& [at_once, online] = by_wrong[k]; !at_once.empty())
      std::printf("%-24s %8g   %8.3f %10.2f  %8.3f %10.2f\n", std::string(constants[k].constant).c_str(), constants[k].factor,
                  geometric_mean(at_once), std::ranges::max(at_once), geometric_mean(online), std::ranges::max(online));
  return 0;
}

}  // namespace tutti::tools
