// `tutti sim`: the barriers of a job with far more ranks than there are machines at hand, on a simulated fabric.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/command.h"
#include "tools/perf/series.h"
#include "tools/sim/measure.h"
#include "tools/sim/regret.h"

namespace tutti::tools {
namespace {

struct choices {
  sim::parameters machine;
  std::string barrier = "all";
  std::uint32_t radix = 0;
  std::uint64_t epochs = 10;
  std::vector<std::string> kills;
  bool regret = false, details = false;
  double wrong = 0;
  std::string only;
};

int complain(const std::string& text, int code) {
  std::fprintf(stderr, "tutti sim: %s\n", text.c_str());
  return code;
}

// RANK@US
bool parse_kill(const std::string& text, std::uint32_t ranks, sim::death& out, std::string& why) {
  unsigned long rank = 0;
  double at = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%lu@%lf%n", &rank, &at, &used) != 2 || used != static_cast<int>(text.size()) ||
      text[0] == '-' || !(at >= 0 && at <= 1e12)) {
    why = "--kill " + text + ": write RANK@US, the rank and the virtual microsecond of its death, as in 7@30.5";
    return false;
  }
  if (rank >= ranks) {
    why = "--kill " + text + ": there is no rank " + std::to_string(rank) + "; the ranks are 0.." +
          std::to_string(ranks - 1);
    return false;
  }
  out = {static_cast<rank_t>(rank), at};
  return true;
}

// The barriers to measure, as TUTTI_BARRIER would name them.
std::vector<communicator_options> wanted(const choices& c) {
  std::vector<communicator_options> out;
  if (c.barrier != "all") {
    out.push_back({.barrier = c.barrier, .radix = c.radix});
    return out;
  }
  for (const algorithm& a : algorithms(collective::barrier))
    if (!a.needs.nodes || c.machine.ranks_per_node > 1)
      out.push_back({.barrier = std::string(a.name), .radix = a.default_radix ? c.radix : 0});
  return out;
}

void print_head(const choices& c) {
  const loggp& l = c.machine.cost;
  std::printf("%u ranks, %u a node; L %g us, o %g us, g %g us, %g GB/s; multicast %g us; seed %llu; %llu barriers\n",
              c.machine.ranks, c.machine.ranks_per_node, l.latency_us, l.overhead_us, l.gap_us, l.bytes_per_ns,
              c.machine.mcast_latency_us, static_cast<unsigned long long>(c.machine.seed),
              static_cast<unsigned long long>(c.epochs));
  if (c.machine.jitter > 0 || c.machine.mcast_loss > 0)
    std::printf("jitter up to %g L, of the datagrams %g%% lost\n", c.machine.jitter, 100 * c.machine.mcast_loss);
  std::printf("%-38s%12s%12s%11s%8s%9s%7s%11s%11s%9s\n", "barrier", "us", "messages", "datagrams", "queries", "repairs",
              "words", "control B", "memory B", "wall s");
}

void print(const sim_figures& f, const choices& c) {
  std::printf("%-38s%12.2f%12.0f%11.1f%8llu%9llu%7u%11llu%11.0f%9.2f\n", f.barrier.c_str(), f.us, f.messages,
              f.datagrams, static_cast<unsigned long long>(f.queries), static_cast<unsigned long long>(f.repairs), f.words,
              static_cast<unsigned long long>(f.control_bytes), f.memory_bytes, f.wall_s);
  if (!c.machine.deaths.empty()) {
    std::printf("    %u survivors ended with an error that names the dead", f.told);
    if (f.told) std::printf(", the last at %.1f us", f.told_us);
    if (f.unaware) std::printf("; %u finished before they could notice", f.unaware);
    std::printf("\n");
  }
  std::fflush(stdout);
}

int simulate(choices& c) {
  for (const std::string& text : c.kills) {
    std::string why;
    if (!parse_kill(text, c.machine.ranks, c.machine.deaths.emplace_back(), why)) return complain(why, usage_error);
  }
  int failed = 0, measured = 0;
  for (const communicator_options& o : wanted(c)) {
    const auto f = measure_barrier(c.machine, o, c.epochs);
    if (f) {
      if (!measured++) print_head(c);
      print(*f, c);
    } else if (c.barrier == "all" && f.error().code() == errc::unsupported) {
      if (!measured++) print_head(c);
      std::printf("%-38sleft out: %s\n", o.barrier.c_str(), f.error().text());
    } else {
      failed = complain(f.error().text(), f.error().code() == errc::invalid ? usage_error : 1);
      if (failed == usage_error) break;
    }
  }
  return failed;
}

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

// What a job chooses against the best candidate.
int tell_regret(const choices& c, bool given_ranks) {
  if (!(c.wrong > 0))
    std::printf("%-14s %5s %8s  %10s %-24s %10s %-24s %6s\n", "collective", "ranks", "bytes", "chosen us", "", "best us", "", "regret");
  std::vector<double> all;
  sim::parameters machine = c.machine;
  machine.queue_depth = 4096;
  const std::vector<misjudged> constants = c.wrong > 0 ? each_misjudged(machine, c.wrong) : std::vector<misjudged>{};
  std::vector<wrongly> by_wrong(constants.size());
  const std::uint32_t usual[] = {2, 4, 8, 16}, one[] = {machine.ranks};
  for (unsigned i = 0; i < collectives; ++i) {
    const auto of = static_cast<collective>(i);
    if (!c.only.empty() && c.only != name_of(of)) continue;
    for (const std::uint32_t ranks : given_ranks ? std::span<const std::uint32_t>(one) : usual) {
      machine.ranks = ranks;
      auto measured = measure_choices(machine, of, regret_sizes, known_of_the_simulator());
      if (!measured) return complain(measured.error().text(), 1);
      if (!(c.wrong > 0))
        for (const sim_choice& s : *measured) print(s, c.details);
      std::erase_if(*measured, [](const sim_choice& s) { return s.all.size() < 2; });
      for (const sim_choice& s : *measured) all.push_back(s.regret());
      for (std::size_t k = 0; k < constants.size() && of != collective::barrier && !measured->empty(); ++k) {
        const auto wrong = measure_misjudged(machine, constants[k], *measured);
        if (!wrong) return complain(wrong.error().text(), 1);
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

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  sim::parameters& m = c->machine;
  m.ranks = 10000;
  app.add("-n,--ranks", m.ranks, "virtual ranks; a few KiB of memory each (default 10000)")
      .between(1, 1000000);
  app.add("--barrier", c->barrier, "all, auto (what a job would choose), or as TUTTI_BARRIER: name[:radix]");
  app.add("--radix", c->radix, "radix or fan-in, where the algorithm takes one").between(1, 1024);
  app.add("--epochs", c->epochs, "barriers, one after the other (default 10)").between(1, 1000000);
  app.add("--seed", m.seed, "equal seeds give equal runs");
  app.add("--jitter", m.jitter, "messages take up to this many latencies longer, and overtake each other")
      .between(0.0, 1000.0);
  app.add("--loss", m.mcast_loss, "probability that a receiver loses a datagram").between(0.0, 0.9);
  app.add("--ranks-per-node", m.ranks_per_node, "consecutive ranks share a node (default 1)")
      .between(1, 1000000);
  app.add("--latency", m.cost.latency_us, "L between nodes, us (default 1)").between(0.0, 1e6);
  app.add("--overhead", m.cost.overhead_us, "o, us a message (default 0.2)").between(0.0, 1e6);
  app.add("--gap", m.cost.gap_us, "g, us between messages of an adapter (default 0.1)")
      .between(0.0, 1e6);
  app.add("--gbytes-per-s", m.cost.bytes_per_ns, "bandwidth (default 10)").between(1e-6, 1e6);
  app.add("--multicast-latency", m.mcast_latency_us, "of a datagram, us (default 1.5)")
      .between(0.0, 1e6);
  app.add("--kill", c->kills, "RANK@US: this rank dies then, in virtual time; may be repeated");
  app.add("--regret", c->regret, "what a job chooses against the best candidate, for 2, 4, 8 and 16 ranks or those given");
  app.add("--collective", c->only, "with --regret, this one alone").one_of(collective_names());
  app.add("--wrong", c->wrong, "with --regret, what it would be if the chooser took each constant for so many times what it is, and for "
                               "that part of it, with and without TUTTI_TUNE=online")
      .between(1.0, 1e6);
  app.add("--details", c->details, "with --regret, every candidate, and what it was expected to take");
  return [c] { return c->regret ? tell_regret(*c, c->machine.ranks != 10000) : simulate(*c); };
}

}  // namespace

const command sim_command{"sim", "Barriers among thousands of simulated ranks: time, messages, memory", declare};

}  // namespace tutti::tools
