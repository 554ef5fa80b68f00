#include "tools/sim_page/simgrid.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tools/command.h"
#include "tools/perf/contestants.h"
#include "tools/perf/report.h"
#include "tools/perf/series.h"
#include "tools/perf/words.h"
#include "tools/run/scratch_folder.h"
#include "tools/sim/collective.h"
#include "tools/sim/measure.h"
#include "tools/sim_page/complain.h"

namespace tutti::tools {
namespace {

constexpr double most_seconds = 1800;  // of a simulation of SimGrid's

using sim_page::complain;

// Nodes around one switch that is no bottleneck, two links from one to another.
std::string platform_of(const sim::parameters& p, std::uint32_t nodes) {
  char text[400];
  std::snprintf(text, sizeof text,
                "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n"
                "<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-%u\" speed=\"1Gf\" bw=\"%.9gGBps\" lat=\"%.9gus\" sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
                nodes - 1, p.cost.bytes_per_ns, p.cost.latency_us / 2);
  return text;
}

// Its model without the factors that its authors fitted to TCP over Ethernet: L and the bandwidth as they are, o of each message's sender.
std::string command_for(const sim::parameters& p, std::uint32_t ranks, const std::string& folder) {
  char text[600];
  std::snprintf(text, sizeof text,
                "smpirun -np %u -platform '%s/platform.xml' -hostfile '%s/hosts' --log=root.thres:critical --cfg=smpi/simulate-computation:no "
                "--cfg=network/model:CM02 --cfg=network/latency-factor:1 --cfg=network/bandwidth-factor:1 --cfg=network/TCP-gamma:0 "
                "--cfg=smpi/barrier:mpich --cfg=smpi/allreduce:rdb --cfg=smpi/ois:0:%.9g:0 --cfg=smpi/or:0:0:0 '%s/bench' ",
                ranks, folder.c_str(), folder.c_str(), p.cost.overhead_us * 1e-6, folder.c_str());
  return bounded_by(most_seconds) + text;
}

struct simulated {
  double us = 0, wall_s = 0;           // us 0: it failed
};

simulated by_simgrid(const std::string& command, const std::string& what, const simgrid_plan& plan, std::uint64_t bytes) {
  const auto began = std::chrono::steady_clock::now();
  std::string words;
  const auto said = output_of_shell(command + what + " " + std::to_string(plan.calls) + " " + std::to_string(bytes), true, &words);
  simulated out{said ? std::atof(said->c_str()) : 0, seconds_since(began)};
  if (!(out.us > 0)) print_words("SimGrid", words);
  return out;
}

result<simulated> by_tutti(sim::parameters p, const std::string& what, const simgrid_plan& plan, std::uint64_t bytes) {
  const auto f = what == "barrier" ? measure_barrier(p, {.barrier = "dissemination"}, plan.calls)
                                   : measure_collective(p, {collective::allreduce, "recursive_doubling", bytes, plan.calls});
  if (!f) return f.error();
  return simulated{f->us, f->wall_s};
}

}  // namespace

int compare_with_simgrid(const simgrid_plan& plan) {
  const sim::parameters& m = plan.machine;
  if (m.topology.kind != sim::wiring::flat || m.ranks_per_node > 1) return complain("--simgrid takes a flat network with one rank on each node", usage_error);
  if (!plan.only.empty() && plan.only != "barrier" && plan.only != "allreduce") return complain("--simgrid knows barrier and allreduce", usage_error);
  const std::vector<std::uint64_t> sizes = plan.bytes.empty() ? std::vector<std::uint64_t>{8, 64 << 10} : plan.bytes;
  launching::scratch_folder scratch;
  if (const status s = scratch.make(launching::temporary_parent()); s.failed()) return complain(s.text());
  const std::string& folder = scratch.path();
  const std::string source = bench_source(plan.self, "smpi_collectives.c");
  if (!output_of_shell("smpicc -O2 -o '" + folder + "/bench' '" + source + "' && echo built"))
    return complain(could_not_build("smpicc", source) + "; it is in Debian's package libsimgrid-dev");
  std::printf("L %g us, o %g us, %g GB/s; %llu calls in a row\n", m.cost.latency_us, m.cost.overhead_us, m.cost.bytes_per_ns,
              static_cast<unsigned long long>(plan.calls));
  std::printf("%-12s %6s %8s %12s %12s %7s %11s %11s %8s\n", "", "ranks", "bytes", "tutti us", "SimGrid us", "off", "tutti s", "SimGrid s", "faster");
  int failed = 0;
  for (const std::string& what : {std::string("barrier"), std::string("allreduce")})
    for (const std::uint32_t ranks : plan.ranks) {
      if (!plan.only.empty() && plan.only != what) continue;
      sim::parameters p = m;
      p.ranks = ranks, p.cost.gap_us = 0;
      write_text(folder + "/platform.xml", platform_of(p, ranks));
      std::string hosts;
      for (std::uint32_t r = 0; r < ranks; ++r) hosts += "n" + std::to_string(r) + "\n";
      write_text(folder + "/hosts", hosts);
      for (const std::uint64_t bytes : what == "barrier" ? std::vector<std::uint64_t>{0} : sizes) {
        const auto ours = by_tutti(p, what, plan, bytes);
        if (!ours) return complain(ours.error().text());
        const simulated theirs = by_simgrid(command_for(p, ranks, folder), what, plan, bytes);
        if (!(theirs.us > 0)) {
          failed = 1;
          continue;
        }
        std::printf("%-12s %6u %8s %12.2f %12.2f %+6.1f%% %11.2f %11.2f %8.1f\n", what.c_str(), ranks,
                    bytes ? short_bytes(static_cast<double>(bytes)).c_str() : "", ours->us, theirs.us, 100 * (ours->us / theirs.us - 1), ours->wall_s, theirs.wall_s,
                    theirs.wall_s / ours->wall_s);
        std::fflush(stdout);
      }
    }
  return failed;
}

}  // namespace tutti::tools
