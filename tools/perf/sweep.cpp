#include "tools/perf/sweep.h"

#include <cstdio>
#include <stdexcept>

#include "tools/perf/measuring_jobs.h"
#include "tools/process.h"

namespace tutti::tools {

report sweep(const sweep_plan& plan) {
  measuring_jobs jobs(plan.progress);
  const std::string json = jobs.scratch() + "/report.json";
  report all;
  bool by_size = plan.by_size;
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    const int ranks = plan.ranks[i];
    std::vector<std::string> words{plan.self, "run", "-n", std::to_string(ranks), "--timeout", "600", plan.self, "perf"};
    words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
    if (plan.seconds > 0) words.insert(words.end(), {"--seconds", std::to_string(plan.seconds)});
    if (by_size && ranks > 1) words.push_back("--by-size"), by_size = false;
    words.insert(words.end(), {"--quiet", "--json", json});
    std::string title = plan.ranks.size() > 1 ? "job " + std::to_string(i + 1) + " of " + std::to_string(plan.ranks.size()) +
                                                    ", " + std::to_string(ranks) + " ranks: " : "";
    if (!jobs.run(std::move(words), title)) {
      std::fprintf(stderr, "tutti perf: the job of %d ranks failed\n", ranks);
      continue;
    }
    report one = from_json(read_text(json));
    if (all.machine.empty()) all.machine = std::move(one.machine);
    for (perf_run& r : one.runs) all.runs.push_back(std::move(r));
  }
  if (all.runs.empty()) throw std::runtime_error("no job succeeded; its own words stand above");
  return all;
}

}  // namespace tutti::tools
