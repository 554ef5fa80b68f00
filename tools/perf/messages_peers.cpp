// `tutti perf messages --peers`
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/perf/bare_machine.h"
#include "tools/perf/contestants.h"
#include "tools/perf/messages_report.h"
#include "tools/perf/report.h"
#include "tools/perf/require.h"
#include "tools/perf/words.h"
#include "tools/run/scratch_folder.h"

namespace tutti::tools {
namespace {

// UCX's own tests of tagged or of active messages, of all cells in one pair of processes, pinned apart. They tell the median of single
// trips for a latency, and the mean for the rest.
contestant ucx_perftest(std::string name, const std::string& kind, const std::string& tls, bool network, const messages_plan& plan) {
  contestant c{std::move(name), {}, {}};
  if (!output_of_shell("command -v ucx_perftest")) c.why_not = "ucx_perftest is not installed (package ucx-utils)";
  c.command = [=, cells = plan.cells](int, double seconds) {
    const std::string port = std::to_string(20000 + getpid() % 20000);
    std::string tests;
    for (const contest_cell& cell : cells) {
      const bool latency = cell.name == "latency" || (cell.name == "active" && kind == "ucp_am");
      if (!latency && cell.name != "bandwidth" && cell.name != "rate") continue;
      const double guess_us = (network ? 5.0 : 0.3) + static_cast<double>(cell.bytes) / 4000;  // of a message
      const int times = static_cast<int>(std::clamp(seconds * 1e6 / guess_us / (latency ? 2 : 1), 300.0, 1e6));
      tests += cell.name.substr(0, 1) + std::to_string(cell.bytes) + " -t " + kind + (latency ? "_lat" : "_bw -O 64") + " -s " +
               std::to_string(cell.bytes) + " -n " + std::to_string(times) + " -w " + std::to_string(times / 10 + 10) + "\\n";
    }
    const auto on = [&](const char* core) {
      return std::string("UCX_TLS=") + tls + " taskset -c " + core + " ucx_perftest -b $f -p " + port;
    };
    // A label's line says which test it was, by a letter and the bytes (a longer one can run into what follows); below, the median (of a
    // latency) and the mean over all are in columns 3 and 5.
    return "sh -c 'f=$(mktemp); trap \"rm -f $f\" EXIT; printf \"" + tests + "\" > $f; " + on("0") + " > /dev/null 2>&1 & p=$!; sleep 0.7; " +
           on("1") + " 127.0.0.1 | sed -un \"s/^+\\([a-z]\\)\\([0-9]*\\)-.*/\\1 \\2/p; s/^Final: */= /p\" | "
           "while read a b c d e r; do case $a in =) case $n in l) echo latency $s $c;; a) echo active $s $c;; b) echo bandwidth $s $e;; "
           "r) echo rate $s $e;; esac;; *) n=$a s=$b;; esac; done; "
           "wait $p'";
  };
  return c;
}

std::vector<contestant> contestants_over(const std::string& provider, const messages_plan& plan, const mpi_library& open, const mpi_library& other) {
  using path = mpi_library::path;
  std::vector<contestant> all{our_messages(plan, provider, "tutti")};
  const auto mpi = [&](const mpi_library& m, const char* name, path p) {
    all.push_back({name, m.why_not, [m, p, words = words_of(plan.cells)](int ranks, double seconds) {
      return m.start(ranks, p) + std::to_string(seconds) + " " + words;
    }});
  };
  if (provider == "shm" || provider.ends_with(":shm")) {
    mpi(open, "Open MPI", path::shared_memory), mpi(open, "OMPI+UCX", path::ucx_shared_memory), mpi(other, "MPICH", path::shared_memory);
    all.push_back(ucx_perftest("UCX tag", "tag", "sm,self", false, plan));
    all.push_back(ucx_perftest("UCX am", "ucp_am", "sm,self", false, plan));
  } else if (provider.ends_with(":tcp")) {
    mpi(open, "Open MPI", path::tcp), mpi(open, "OMPI+UCX", path::ucx_tcp), mpi(other, "MPICH", path::ucx_tcp);
    all.push_back(ucx_perftest("UCX tag", "tag", "tcp,self", true, plan));
    all.push_back(ucx_perftest("UCX am", "ucp_am", "tcp,self", true, plan));
  }
  return all;
}

// A bare flag and a memcpy: what a message of two cores' shared memory cannot go below. A flag's cost in a stream is hidden.
double bare_us(const contest_cell& cell) {
  const double copy = static_cast<double>(cell.bytes) / copy_rate(cell.bytes);
  if (cell.name == "latency" || cell.name == "active") return measure_bare_machine().flag_us + (cell.bytes > 64 ? copy : 0);
  return cell.name == "bandwidth" ? copy : 0;
}

void print_mean(const char* name, const std::vector<double>& all) {
  if (all.empty()) return;
  const auto behind = std::ranges::count_if(all, [](double x) { return x > 1; });
  std::printf("  %-12s%8.2f of %zu cells, %zu behind\n", name, geometric_mean(all), all.size(), static_cast<std::size_t>(behind));
}

void print(const contest& c, int ranks) {
  const auto& all = c.plan().contestants;
  std::printf("\n%s, %d ranks\n%-22s%10s%10s", c.plan().title.c_str(), ranks, "", "bytes", "bare");
  for (const contestant& one : all)
    if (one.why_not.empty()) std::printf("%11s", one.name.c_str());
  std::printf("%8s%9s\n", "ratio", "by bare");
  std::vector<double> ratios;
  for (const contest_cell& cell : c.plan().cells) {
    std::printf("%-22s%10s", (cell.name + ", " + unit_of(cell.name)).c_str(), short_bytes(static_cast<double>(cell.bytes)).c_str());
    print_figure(shown(cell, c.floor(cell)), 10);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].why_not.empty()) print_figure(shown(cell, c.median(k, ranks, cell)), 11);
    const std::size_t peer = c.best_other(ranks, cell);
    const double ratio = peer > 0 ? c.ratio(0, peer, ranks, cell) : 0, ours = c.median(0, ranks, cell);
    if (ratio > 0) std::printf("%8.2f", ratio), ratios.push_back(ratio);
    else std::printf("%8s", "-");
    if (c.floor(cell) > 0 && ours > 0) std::printf("%9.2f", ours / c.floor(cell));
    std::printf("\n");
  }
  print_left_out(c);
  std::printf("geometric means of the ratios\n");
  for (const char* part : {"latency", "bandwidth", "rate", "active"}) {
    std::vector<double> some;
    for (const contest_cell& cell : c.plan().cells)
      if (const std::size_t peer = c.best_other(ranks, cell); cell.name == part && peer > 0 && c.ratio(0, peer, ranks, cell) > 0)
        some.push_back(c.ratio(0, peer, ranks, cell));
    print_mean(part, some);
  }
  print_mean("all", ratios);
  if (const contest_cell eight{"latency", 8}; c.floor(eight) > 0 && c.median(0, ranks, eight) > 0)
    std::printf("8 B: %.0f ns over a bare flag of the same rounds, which takes %.0f\n", 1e3 * (c.median(0, ranks, eight) - c.floor(eight)),
                1e3 * c.floor(eight));
}

}  // namespace

int compare_messages_with_peers(const messages_plan& plan) {
  launching::scratch_folder scratch;
  require(scratch.make(launching::temporary_parent()));
  const mpi_library open = open_mpi(plan.self, scratch.path(), "mpi_messages.c"), other = mpich(plan.self, scratch.path(), "mpi_messages.c");
  std::vector<contest> all;
  bool complete = true;
  std::printf("messages between ranks 0 and 1, on %s; medians of jobs in turn\n"
              "bare: a flag from core to core, and a memcpy of the bytes; ratio: our time over the best peer's, of jobs seconds apart\n",
              machine_text().c_str());
  for (const std::string& provider : plan.providers) {
    contest& c = all.emplace_back(contest_plan{.title = provider, .contestants = contestants_over(provider, plan, open, other),
                                               .cells = plan.cells, .ranks = plan.ranks, .jobs_cells = static_cast<int>(plan.cells.size()),
                                               .seconds = plan.seconds / static_cast<double>(plan.providers.size()), .floor = bare_us});
    c.measure();
    for (const int ranks : plan.ranks) {
      print(c, ranks);
      for (const contest_cell& cell : plan.cells) complete = complete && c.median(0, ranks, cell) > 0;
    }
  }
  write_contests(plan.json, "messages between two ranks, microseconds a message", all);
  if (complete) return 0;
  std::fprintf(stderr, "tutti perf messages: some cells have no figure of tutti's; its job failed, or more than %.0f --seconds are needed\n", plan.seconds);
  return 1;
}

}  // namespace tutti::tools
