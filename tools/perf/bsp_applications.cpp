// Each program solves its problem together, verifies the result, has process 0 solve it alone, and prints both times. Jobs run one
// after the other, every program with every number of processes in each round, so that the machine's moods fall upon all alike.
#include "tools/perf/bsp_applications.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/perf/contestants.h"
#include "tools/perf/require.h"
#include "tools/perf/series.h"
#include "tools/perf/status_line.h"
#include "tools/process.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

struct application {
  std::string name;     // as its file is called
  std::string program;  // empty: there is none
  std::string why_not;
  std::vector<series> together_ms, speed_up;  // by number of processes
  series alone_ms;
  std::string words;    // of the last job that failed
};

// The build's program, or one that the installed bspcc makes of the installed source.
application find(const std::string& name, const std::string& self, const std::string& scratch, std::size_t counts) {
  application a{.name = name, .together_ms = std::vector<series>(counts), .speed_up = std::vector<series>(counts)};
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  if (a.program = folder + "bsp_" + name; access(a.program.c_str(), X_OK) == 0) return a;
  const std::string source = folder + TUTTI_EXAMPLES_FROM_BIN + "/bsp/" + name + ".c";
  a.program = scratch + "/" + name;
  std::string words;
  if (access(source.c_str(), R_OK) != 0) a.why_not = source + " is missing; install tutti's examples, or build them";
  else if (!output_of_shell("'" + folder + "bspcc' -O2 '" + source + "' -o '" + a.program + "' -lm && echo built", true, &words))
    a.why_not = folder + "bspcc could not build " + source + ": " + words.substr(0, words.find('\n'));
  return a;
}

// What such a program prints: "LU: right; 2 processes 41.5 ms, one alone 80 ms, speed-up 1.93".
bool take(application& a, std::size_t n, const std::string& text) {
  const auto at = text.find(": right; ");
  double together = 0, alone = 0;
  if (at == text.npos || std::sscanf(text.c_str() + at, ": right; %*d processes %lf ms, one alone %lf ms", &together, &alone) != 2) return false;
  a.together_ms[n].add(together), a.alone_ms.add(alone), a.speed_up[n].add(alone / together);
  return true;
}

void print(const std::vector<application>& all, const std::vector<int>& processes, int rounds) {
  std::printf("BSP programs of their default sizes; medians of %d jobs in turn; speed-up: the time of one process alone, without\n"
              "BSPlib, over the time together, in the same job\n\n%-26s%12s", rounds, "", "alone, ms");
  for (const int p : processes) std::printf("%12s", ("p = " + std::to_string(p)).c_str());
  std::printf("\n");
  for (const application& a : all) {
    if (!a.why_not.empty()) continue;
    std::printf("%-26s%12.3g", (a.name + ", ms").c_str(), a.alone_ms.median());
    for (const series& s : a.together_ms) s.count() ? std::printf("%12.3g", s.median()) : std::printf("%12s", "-");
    std::printf("\n%-26s%12s", "  speed-up", "");
    for (const series& s : a.speed_up) s.count() ? std::printf("%12.2f", s.median()) : std::printf("%12s", "-");
    std::printf("\n");
  }
  for (const application& a : all) {
    if (!a.why_not.empty()) std::printf("%s: left out, %s\n", a.name.c_str(), a.why_not.c_str());
    if (!a.words.empty()) print_words(a.name, a.words);
  }
}

}  // namespace

int measure_applications(const applications_plan& plan) {
  std::vector<int> processes;
  for (int p = 1; p < plan.ranks; p *= 2) processes.push_back(p);
  processes.push_back(plan.ranks);
  launching::scratch_folder scratch;
  require(scratch.make(launching::temporary_parent()));
  const std::string self = own_path();
  std::vector<application> all;
  for (const char* name : {"inner_product", "lu", "fft", "sort", "spmv"}) all.push_back(find(name, self, scratch.path(), processes.size()));
  if (std::ranges::none_of(all, [](const application& a) { return a.why_not.empty(); })) throw std::runtime_error(all.front().why_not);

  status_line line(true);
  bool complete = true;
  for (int round = 0; round < plan.rounds; ++round)
    for (application& a : all)
      for (std::size_t n = 0; n < processes.size() && a.why_not.empty(); ++n) {
        line.show("round " + std::to_string(round + 1) + " of " + std::to_string(plan.rounds) + ": " + a.name + ", " +
                  std::to_string(processes[n]) + " processes");
        std::string words;
        const auto text = output_of_shell("'" + self + "' run --timeout 60 -n " + std::to_string(processes[n]) + " '" + a.program + "'", true, &words);
        if (!text || !take(a, n, *text)) a.words = words.empty() ? text.value_or("") : words, complete = false;
      }
  line.clear();
  print(all, processes, plan.rounds);
  if (!complete) std::fprintf(stderr, "tutti perf bsp: some programs failed; what they said stands below the table\n");
  return complete ? 0 : 1;
}

}  // namespace tutti::tools
