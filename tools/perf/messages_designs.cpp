// `tutti perf messages --designs` and `--rings`: the designs of Huang, Santhanaraman, Jin and Panda (2005), whose RDMA channel, CH3 and
// ADI3 levels are channel, packet and full here. Their factors stand beside ours.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string_view>

#include "core/job/config.h"
#include "tools/perf/contestants.h"
#include "tools/perf/messages_report.h"
#include "tools/perf/require.h"
#include "tools/perf/words.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

// The first is the default, and "ours".
constexpr const char* designs[] = {"full", "channel", "packet"};
enum design : std::size_t { full, channel, packet };

constexpr struct {
  const char* part;
  const char* title;
  const char* paper;
} figures[] = {
    {"bandwidth", "figure 5: bandwidth, a window of 64", "packet up to 28 % above channel; full as packet"},
    {"latency", "figure 6: latency, half a round trip", "channel 5.6 us, packet 5.3 (-5 %), full 4.9 (-8 %, by header caching below 256 B)"},
    {"put", "figure 7: put and synchronisation, half a round trip", "packet slightly below channel; full 30 % below packet"},
    {"mixed", "figure 8: throughput of 16 puts and 16 gets", "packet up to 49 % above channel; full at its peak 8.1 % above packet"},
};

// How far a's figure is above (+) or below b's, in percent of b's.
void print_change(const contest& c, std::size_t a, std::size_t b, int ranks, const contest_cell& cell) {
  const double time = c.ratio(a, b, ranks, cell);
  const bool more_is_better = std::string_view(unit_of(cell.name)) != "us";
  if (time > 0) std::printf("%+11.0f %%", 100 * ((more_is_better ? 1 / time : time) - 1));
  else std::printf("%13s", "-");
}

void print_figure_of(const contest& c, int ranks, const char* title, const char* paper, const std::vector<contest_cell>& cells) {
  if (cells.empty()) return;
  std::printf("\n%s, %s, %d ranks: %s\n%14s%10s%10s%10s%13s%13s\n", c.plan().title.c_str(), title, ranks, unit_of(cells[0].name), "",
              "channel", "packet", "full", "by packet", "by full");
  for (const contest_cell& cell : cells) {
    const bool by_bytes = std::ranges::any_of(figures, [&](const auto& f) { return cell.name == f.part; });
    std::printf("  %-12s", (by_bytes ? short_bytes(static_cast<double>(cell.bytes)) : cell.name).c_str());
    for (const std::size_t d : {channel, packet, full}) print_figure(shown(cell, c.median(d, ranks, cell)), 10);
    print_change(c, packet, channel, ranks, cell);
    print_change(c, full, packet, ranks, cell);
    for (std::size_t k = std::size(designs); k < c.plan().contestants.size(); ++k)
      if (const double us = c.median(k, ranks, cell); us > 0)
        std::printf("   %s %s", c.plan().contestants[k].name.c_str(), short_number(shown(cell, us)).c_str());
    std::printf("\n");
  }
  std::printf("  the paper: %s\n", paper);
}

void require_the_designs() {
  const config_option lowest[] = {{"messaging", "channel"}};
  if (const auto s = config::load(lowest); !s)
    throw std::runtime_error(std::string("the designs are not to be had: ") + s.error().text());
}

std::vector<contestant> the_designs(const messages_plan& plan, const std::string& provider) {
  std::vector<contestant> all;
  for (const char* d : designs) all.push_back(our_messages(plan, provider, d, d));
  return all;
}

bool complete(const contest& c) {
  for (const int ranks : c.plan().ranks)
    for (const contest_cell& cell : c.plan().cells)
      for (std::size_t d = 0; d < std::size(designs); ++d)
        if (c.median(d, ranks, cell) == 0) return false;
  return true;
}

int ended(bool whole, const messages_plan& plan) {
  if (whole) return 0;
  std::fprintf(stderr, "tutti perf messages: some cells have no figure; a job failed, or more than %.0f --seconds are needed\n",
               plan.seconds);
  return 1;
}

// Figure 10, by examples/integer_sort.c, which a build of tutti has beside this command.
contest sorts(const messages_plan& plan, const std::string& provider, const std::string& program) {
  std::vector<contestant> all;
  for (const char* d : designs) {
    const std::string job = "env TUTTI_PROVIDER=" + provider + " TUTTI_MESSAGING=" + d + " '" + plan.self + "' run -n ";
    all.push_back({d, {}, [=](int ranks, double) {
      return "sh -c \"" + job + std::to_string(ranks) + " '" + program + "' A | sed -n 's/.* sorts in \\([0-9.]*\\) s.* verified/\\1/p' | " +
             "awk '{print \\\"sort\\\", 8388608, \\$1 * 1e5}'\"";
    }});
  }
  return contest({.title = provider, .contestants = std::move(all), .cells = {{"sort", 8388608}}, .ranks = {2, 4},
                  .seconds = plan.seconds / 10});
}

void print_plan(const messages_plan&, const char* what) {
  std::printf("%s, on %s; medians of jobs in turn\nby packet: beside channel; by full: beside packet\n", what, machine_text().c_str());
}

}  // namespace

int compare_message_designs(const messages_plan& plan) {
  require_the_designs();
  std::vector<contest> all;
  bool whole = true;
  print_plan(plan, "three designs of messages");
  const std::string program = plan.self.substr(0, plan.self.rfind('/') + 1) + "integer_sort";
  for (const std::string& provider : plan.providers) {
    contest& c = all.emplace_back(contest_plan{.title = provider, .contestants = the_designs(plan, provider), .cells = plan.cells,
                                               .ranks = plan.ranks, .jobs_cells = static_cast<int>(plan.cells.size()),
                                               .seconds = plan.seconds / static_cast<double>(plan.providers.size()), .floor = {}});
    c.measure();
    for (const int ranks : plan.ranks)
      for (const auto& figure : figures) {
        std::vector<contest_cell> cells;
        for (const contest_cell& cell : plan.cells)
          if (cell.name == figure.part) cells.push_back(cell);
        print_figure_of(c, ranks, figure.title, figure.paper, cells);
      }
    whole = whole && complete(c);
    if (!plan.sorts || access(program.c_str(), X_OK) != 0) continue;
    contest& s = all.emplace_back(sorts(plan, provider, program));
    s.measure();
    for (const int ranks : s.plan().ranks)
      print_figure_of(s, ranks, "figure 10: an integer sort of 2^23 keys", "packet and full up to 7 % below channel, on 8 and 16 nodes", s.plan().cells);
    whole = whole && complete(s);
  }
  if (plan.sorts && access(program.c_str(), X_OK) != 0)
    std::printf("\nfigure 10, an integer sort, is left out: %s is missing; it is examples/integer_sort.c, which a build of tutti has there\n",
                program.c_str());
  write_contests(plan.json, "three designs of messages, microseconds", all);
  return ended(whole, plan);
}

int compare_message_rings(const messages_plan& plan) {
  require_the_designs();
  launching::scratch_folder scratch;
  require(scratch.make(launching::temporary_parent()));
  const mpi_library libraries[] = {open_mpi(plan.self, scratch.path(), "mpi_messages.c"), mpich(plan.self, scratch.path(), "mpi_messages.c")};
  std::vector<contest_cell> cells;
  for (const contest_cell& cell : plan.cells)
    for (const char* name : {"pairs-min", "pairs-avg", "pairs-max", "ring-natural", "ring-random"}) cells.push_back({name, cell.bytes});
  std::vector<contest> all;
  bool whole = true;
  print_plan(plan, "latencies among all ranks, as in the HPC Challenge");
  for (const std::string& provider : plan.providers) {
    std::vector<contestant> some = the_designs(plan, provider);
    const auto p = provider == "shm" ? mpi_library::path::shared_memory : mpi_library::path::ucx_tcp;
    for (const mpi_library& m : libraries)
      some.push_back({m.name, m.why_not, [m, p, words = words_of(plan.cells)](int ranks, double seconds) {
        return m.start(ranks, p) + std::to_string(seconds) + " " + words;
      }});
    contest& c = all.emplace_back(contest_plan{.title = provider, .contestants = std::move(some), .cells = cells, .ranks = plan.ranks,
                                               .jobs_cells = 4 * static_cast<int>(plan.cells.size()),
                                               .seconds = plan.seconds / static_cast<double>(plan.providers.size()), .floor = {}});
    c.measure();
    for (const int ranks : plan.ranks)
      print_figure_of(c, ranks, "figure 9: pairs and rings", "packet up to 7 % below channel; full up to 6 % below packet, on 16 nodes", cells);
    print_left_out(c);
    whole = whole && complete(c);
  }
  write_contests(plan.json, "latencies among all ranks, microseconds", all);
  return ended(whole, plan);
}

}  // namespace tutti::tools
