// `tutti perf overlap`: how much of a barrier a program notices, in the figures of Buntinas 2001, section 4: time of a loop
// against its computation (figure 6), the computation that an efficiency takes (figure 7), arrivals that vary (figures 8
// and 9), and three synthetic applications (figure 10); for a barrier that blocks, one in two halves with computation in
// between, and one that the fabric runs by itself.
#include <algorithm>
#include <cstdio>

#include "tools/perf/measured_provider.h"
#include "tools/perf/overlap_bench.h"
#include "tools/perf/topic.h"

namespace tutti::tools {
namespace {

std::string number(double us) { return std::to_string(static_cast<long>(us + 0.5)); }

using cell = double (*)(const overlap_case&);
double time_of(const overlap_case& c) { return c.us.median(); }
double efficiency_of(const overlap_case& c) { return c.efficiency.median(); }

// Cases stand row by row, each way in turn.
void print(const overlap_bench& b, const std::vector<overlap_case>& cases, const char* title, cell value, int digits) {
  std::printf("\n%-34s", title);
  for (const auto& w : b.ways()) std::printf("%14s", w.name.c_str());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i % b.ways().size() == 0) std::printf("\n  %-32s", cases[i].row.c_str());
    std::printf("%14.*f", digits, value(cases[i]));
  }
  std::printf("\n");
}

std::vector<overlap_case> each_way(const overlap_bench& b, const std::string& row, const std::vector<phase>& loop) {
  std::vector<overlap_case> out;
  for (std::size_t w = 0; w < b.ways().size(); ++w) out.push_back({row, w, loop, 1, {}});
  return out;
}

void append(std::vector<overlap_case>& to, std::vector<overlap_case> more) {
  std::move(more.begin(), more.end(), std::back_inserter(to));
}

// The computation from which on a way keeps an efficiency; none: it does not reach it, or falls below it again.
std::optional<double> computation_for(double efficiency, const std::vector<overlap_case>& cases, std::size_t way) {
  std::vector<std::pair<double, double>> points;
  for (const overlap_case& c : cases)
    if (c.way == way) points.emplace_back(c.loop[0].mean_us, efficiency_of(c));
  return kept_from(points, efficiency);
}

void measure_loop(overlap_bench& b, const perf_topic& c, bool prints) {
  std::vector<overlap_case> cases;
  for (const double us : {1.5, 16.0, 64.0, 130.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0})
    append(cases, each_way(b, (us < 10 ? "1.5" : number(us)) + std::string(" us of computation"), {{us, 0}}));
  b.measure(cases, c.seconds);
  if (!prints) return;
  print(b, cases, "time of a loop, us", time_of, 1);
  std::printf("\n%-34s", "computation for an efficiency, us");
  for (const auto& w : b.ways()) std::printf("%14s", w.name.c_str());
  for (const double e : {0.25, 0.5, 0.75, 0.9}) {
    std::printf("\n  %-32.2f", e);
    for (std::size_t w = 0; w < b.ways().size(); ++w) {
      const auto us = computation_for(e, cases, w);
      us ? std::printf("%14.1f", *us) : std::printf("%14s", "> 16384");
    }
  }
  std::printf("\n");
}

void measure_arrival(overlap_bench& b, const perf_topic& c, bool prints) {
  std::vector<overlap_case> cases;
  for (const double us : {64.0, 256.0, 1024.0, 4096.0})
    for (const int percent : {0, 5, 10, 15, 20})
      append(cases, each_way(b, number(us) + " us +- " + std::to_string(percent) + " %", {{us, percent / 100.0}}));
  b.measure(cases, c.seconds);
  if (prints) print(b, cases, "time of a loop, us", time_of, 1);
}

// Eight steps of 10 to 80 us, twenty of 10 to 200, ten of 100 to 3000: each rank's by itself, +- 10 %.
void measure_applications(overlap_bench& b, const perf_topic& c, bool prints) {
  const auto steps = [](const std::vector<double>& us) {
    std::vector<phase> out;
    for (const double u : us) out.push_back({u, 0.1});
    return out;
  };
  std::vector<double> eight, twenty;
  for (int i = 1; i <= 8; ++i) eight.push_back(10 * i);
  for (int i = 1; i <= 20; ++i) twenty.push_back(10 * i);
  std::vector<overlap_case> cases;
  append(cases, each_way(b, "360 us in 8 steps", steps(eight)));
  append(cases, each_way(b, "2100 us in 20 steps", steps(twenty)));
  append(cases, each_way(b, "9450 us in 10 steps",
                         steps({100, 500, 1000, 2000, 3000, 500, 500, 250, 600, 1000})));
  b.measure(cases, c.seconds);
  if (!prints) return;
  print(b, cases, "synthetic application, us", time_of, 0);
  print(b, cases, "its efficiency", efficiency_of, 3);
}

void measure(const perf_topic& c, job& j, const config& settings) {
  const bool prints = j.rank() == 0;
  overlap_bench b(j, communicator_options_from(settings));
  if (prints)
    std::printf("%u ranks, %.2g a core, provider %s, barrier %s; medians of interleaved chunks%s\n", j.size(),
                j.ranks_per_core(), j.fabric().c_str(),
                std::string(b.ways()[0].team->barrier().row().name).c_str(),
                b.offloads() ? "" : "; this provider runs no barrier by itself (ofi:sockets does)");
  if (c.wants("loop")) measure_loop(b, c, prints);
  if (c.wants("arrival")) measure_arrival(b, c, prints);
  if (c.wants("applications")) measure_applications(b, c, prints);
}

}  // namespace

std::function<int()> declare_overlap(options perf) {
  auto c = std::make_shared<perf_topic>(perf_topic{.name = "overlap", .parts = {"loop", "arrival", "applications"}, .seconds = 5});
  options app = perf.subcommand("overlap", "computation and a barrier: blocking, in two halves, and run by the fabric");
  c->declare(app, "how long to measure each part, at least (default 5)",
             "loop (time and efficiency by computation), arrival, applications; default all");
  c->prepare = [](job_options& o, const config& settings) {
    o.world_lines = communicator::world_lines_with(communicator_options_from(settings));
  };
  c->measure = [self = c.get()](job& j, const config& settings) { tools::measure(*self, j, settings); };
  return [c] { return run_topic(*c); };
}

}  // namespace tutti::tools
