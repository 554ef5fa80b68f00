// `tutti sim`: barriers, collectives and puts of a job with far more ranks than there are machines at hand, and whole programs, on a simulated
// fabric.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/command.h"
#include "tools/perf/report.h"
#include "tools/perf/words.h"
#include "tools/process.h"
#include "tools/sim/collective.h"
#include "tools/sim/machine.h"
#include "tools/sim/measure.h"
#include "tools/sim/program.h"
#include "tools/sim/rank_list.h"
#include "tools/sim/results_json.h"
#include "tools/sim/traffic.h"
#include "tools/sim_page/complain.h"
#include "tools/sim_page/page.h"
#include "tools/sim_page/patience.h"
#include "tools/sim_page/regret_text.h"
#include "tools/sim_page/simgrid.h"
#include "tools/sim_page/validation_text.h"

namespace tutti::tools {
namespace {

constexpr std::uint32_t most_ranks = 1000000, usual_ranks = 10000, usual_with_data = 16, most_processes = 4096;

struct choices {
  machine on;
  std::string ranks;                   // "": as usual for what is measured
  std::vector<std::uint32_t> counts;
  std::string barrier = "all";
  std::uint32_t radix = 0;
  std::uint64_t epochs = 0;            // 0: 10, or 16 of what moves data
  std::vector<std::string> kills;
  bool regret = false, details = false;
  double wrong = 0;
  std::string only, algorithm;         // --collective
  std::vector<std::uint64_t> bytes;
  std::string traffic;
  bool get = false;
  std::uint32_t window = 1;
  std::string file, fabric;            // of the machine; of a tuning table
  std::string validated;               // a tuning table
  bool simgrid = false;
  std::vector<std::string> given;      // by machine_parameters(): what the command line says, "" nothing
  std::string json, html;
  std::vector<std::string> program;
  double compute = 1;
};

using sim_page::complain;

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

// The file's machine, and upon it what the command line says.
status settle(choices& c) {
  if (!c.fabric.empty() && c.file.empty())
    return {errc::invalid, "--fabric " + c.fabric + " is one of a table of `tutti tune`: name the table by --machine or --validate"};
  if (!c.file.empty()) {
    auto read = read_machine(c.file, c.fabric);
    if (!read) return read.error();
    read->par.seed = c.on.par.seed;
    c.on = std::move(*read);
  }
  for (std::size_t i = 0; i < c.given.size(); ++i) {
    const machine_parameter& m = machine_parameters()[i];
    if (c.given[i].empty()) continue;
    if (const status s = set(c.on.par, m, c.given[i]); s.failed()) return {errc::invalid, std::string(m.option) + ": " + s.text()};
    c.on.sources[std::string(m.name)] = "the command line";
  }
  const bool with_data = !c.program.empty() || (!c.only.empty() && c.only != "barrier");
  if (!c.program.empty() && (c.regret || !c.traffic.empty() || !c.only.empty()))
    return {errc::invalid, "a program is measured by itself: leave out --collective, --traffic and --regret, or the program"};
  const std::string usual = c.regret ? "2,4,8,16" : c.simgrid ? "16,1000" : std::to_string(with_data ? usual_with_data : usual_ranks);
  auto counts = parse_ranks(c.ranks.empty() ? usual : c.ranks, most_ranks);
  if (!counts) return counts.error();
  c.counts = std::move(*counts);
  if (!c.program.empty() && std::ranges::max(c.counts) > most_processes)
    return {errc::invalid, "each rank of a program is a process here: at most " + std::to_string(most_processes) + " --ranks"};
  for (const std::string& text : c.kills) {
    std::string why;
    if (!parse_kill(text, std::ranges::min(c.counts), c.on.par.deaths.emplace_back(), why)) return {errc::invalid, why};
  }
  for (const std::uint32_t n : c.counts) {
    sim::parameters p = c.on.par;
    p.ranks = n;
    if (const status s = sim::world::check(p); s.failed()) return s;
  }
  return {};
}

// The barriers to measure, as TUTTI_BARRIER would name them.
std::vector<communicator_options> wanted(const choices& c) {
  std::vector<communicator_options> out;
  if (c.barrier != "all") {
    out.push_back({.barrier = c.barrier, .radix = c.radix});
    return out;
  }
  for (const algorithm& a : algorithms(collective::barrier))
    if (!a.needs.nodes || c.on.par.ranks_per_node > 1)
      out.push_back({.barrier = std::string(a.name), .radix = a.default_radix ? c.radix : 0});
  return out;
}

void print_head(const sim::parameters& p, const char* what) {
  const loggp& l = p.cost;
  std::printf("%u ranks, %u a node; L %g us, o %g us, g %g us, %g GB/s; multicast %g us; seed %llu\n", p.ranks, p.ranks_per_node, l.latency_us,
              l.overhead_us, l.gap_us, l.bytes_per_ns, p.mcast_latency_us, static_cast<unsigned long long>(p.seed));
  if (p.topology.kind != sim::wiring::flat) {
    const auto t = sim::topology::make(p.topology, (p.ranks + p.ranks_per_node - 1) / p.ranks_per_node);
    if (t) std::printf("%s; %g us a link\n", t->describe().c_str(), p.topology.hop_us);
  }
  if (p.jitter > 0 || p.mcast_loss > 0) std::printf("jitter up to %g L, of the datagrams %g%% lost\n", p.jitter, 100 * p.mcast_loss);
  std::printf("%-38s%9s%12s%11s%11s%11s%12s", what, "bytes", "us", "median", "99%", "most", "messages");
}

void print(const sim_figures& f) {
  std::printf("%-38s%9llu%12.2f%11.2f%11.2f%11.2f%12.0f", f.way.c_str(), static_cast<unsigned long long>(f.bytes), f.us, f.each.p50, f.each.p99, f.each.most, f.messages);
}

void print_busiest(const sim_figures& f, FILE* to = stdout) {
  if (f.busiest && f.lasted_us > 0)
    std::fprintf(to, "    busiest link, %s: %llu messages, %.0f %% of the time; waited for %.2f us a message\n", f.busiest->name.c_str(),
                static_cast<unsigned long long>(f.busiest->messages), 100 * f.busiest->busy_us / f.lasted_us,
                f.busiest->waited_us / static_cast<double>(f.busiest->messages));
}

void print_barrier(const sim_figures& f, const sim::parameters& p) {
  print(f);
  std::printf("%11.1f%8llu%9llu%7u%11llu%11.0f%9.2f\n", f.datagrams, static_cast<unsigned long long>(f.queries), static_cast<unsigned long long>(f.repairs),
              f.words, static_cast<unsigned long long>(f.control_bytes), f.memory_bytes, f.wall_s);
  print_busiest(f);
  if (!p.deaths.empty()) {
    std::printf("    %u survivors ended with an error that names the dead", f.told);
    if (f.told) std::printf(", the last at %.1f us", f.told_us);
    if (f.unaware) std::printf("; %u finished before they could notice", f.unaware);
    std::printf("\n");
  }
  std::fflush(stdout);
}

int barriers(const choices& c, const sim::parameters& p, std::vector<sim_figures>& all) {
  int failed = 0, measured = 0;
  const auto head = [&] {
    if (measured++) return;
    print_head(p, "barrier");
    std::printf("%11s%8s%9s%7s%11s%11s%9s\n", "datagrams", "queries", "repairs", "words", "control B", "memory B", "wall s");
  };
  for (const communicator_options& o : wanted(c)) {
    auto f = measure_barrier(p, o, c.epochs ? c.epochs : 10, patience(o.barrier + " among " + std::to_string(p.ranks)));
    if (f) {
      head();
      print_barrier(*f, p);
      all.push_back(std::move(*f));
    } else if (c.barrier == "all" && f.error().code() == errc::unsupported) {
      head();
      std::printf("%-38sleft out: %s\n", o.barrier.c_str(), f.error().text());
    } else {
      failed = complain(f.error().text(), f.error().code() == errc::invalid ? usage_error : 1);
      if (failed == usage_error) break;
    }
  }
  return failed;
}

// What moves data: a line for each size.
template <class Measure>
int by_size(const choices& c, const sim::parameters& p, const char* what, std::vector<sim_figures>& all, Measure measure) {
  const std::vector<std::uint64_t> sizes = c.bytes.empty() ? std::vector<std::uint64_t>{8, 1 << 10, 64 << 10} : c.bytes;
  int measured = 0;
  for (const std::uint64_t bytes : sizes) {
    auto f = measure(bytes, patience(std::string(what) + " of " + std::to_string(bytes) + " B among " + std::to_string(p.ranks)));
    if (!f) return complain(f.error().text(), f.error().code() == errc::invalid ? usage_error : 1);
    if (!measured++) print_head(p, what), std::printf("%11s%11s%9s\n", "GB/s", "first us", "wall s");
    print(*f);
    std::printf("%11.3f%11.2f%9.2f\n", f->us > 0 ? f->payload / f->us / 1000 : 0, f->first_us, f->wall_s);
    print_busiest(*f);
    std::fflush(stdout);
    all.push_back(std::move(*f));
  }
  return 0;
}

int program(const choices& c, const sim::parameters& p, std::vector<sim_figures>& all) {
  patience line(c.program[0] + " on " + std::to_string(p.ranks) + " ranks");
  const auto so_far = [&](double us, std::uint64_t messages) {
    line.tell([&] { return short_time(1000 * us) + " of virtual time, " + std::to_string(messages) + " messages"; });
  };
  auto ran = run_program(p, {c.program, c.compute, so_far});
  if (!ran) return complain(ran.error().text(), 1);
  const sim_figures& f = ran->figures;
  std::fprintf(stderr, "tutti sim: %s, %u ranks: %.2f us of virtual time, %.0f messages, %.0f bytes; %.2f s to simulate\n", f.way.c_str(), f.ranks, f.us,
               f.messages, f.payload, f.wall_s);
  print_busiest(f, stderr);
  if (!ran->trouble.empty()) return complain(ran->trouble, ran->exit_status);
  all.push_back(f);
  return 0;
}

int simulate(const choices& c) {
  std::vector<sim_figures> all;
  int failed = 0;
  for (const std::uint32_t n : c.counts) {
    sim::parameters p = c.on.par;
    p.ranks = n;
    int one = 0;
    if (!c.program.empty()) {
      one = program(c, p, all);
    } else if (!c.traffic.empty()) {
      const auto to = static_cast<pattern>(std::ranges::find(pattern_names, c.traffic) - std::begin(pattern_names));
      one = by_size(c, p, c.traffic.c_str(), all, [&](std::uint64_t bytes, auto progress) {
        return measure_traffic(p, {to, c.get, bytes, c.epochs ? c.epochs : 16, c.window}, progress);
      });
    } else if (!c.only.empty() && c.only != "barrier") {
      one = by_size(c, p, c.only.c_str(), all, [&](std::uint64_t bytes, auto progress) {
        return measure_collective(p, {*find_collective(c.only), c.algorithm, bytes, c.epochs ? c.epochs : 16}, progress);
      });
    } else {
      one = barriers(c, p, all);
    }
    failed = std::max(failed, one);
    if (one == usage_error) break;
  }
  try {
    if (!all.empty() && !c.json.empty()) write_text(c.json, to_json(c.on, all));
    if (!all.empty() && !c.html.empty()) write_text(c.html, to_page(c.on, all));
  } catch (const std::exception& e) {
    return complain(e.what(), 1);
  }
  return failed;
}

std::function<int()> declare(options app) {
  auto c = std::make_shared<choices>();
  sim::parameters& m = c->on.par;
  app.program_stands_among();
  app.add("-n,--ranks", c->ranks, "virtual ranks: 10000, or 2,4,8, or 2..65536, which doubles; a few KiB of memory each (default 10000; 16 of "
                                  "what moves data, and of a program)");
  app.add("--barrier", c->barrier, "all, auto (what a job would choose), or as TUTTI_BARRIER: name[:radix]");
  app.add("--radix", c->radix, "radix or fan-in, where the algorithm takes one").between(1, 1024);
  app.add("--collective", c->only, "this one instead of barriers; with --regret, this one alone").one_of(collective_names());
  app.add("--algorithm", c->algorithm, "of the collective, as TUTTI_ALLREDUCE: name[:radix] (default: what a job would choose)");
  app.add("--traffic", c->traffic, "puts instead of barriers: to ranks of each one's choice, to the next one, to each in turn, all to rank 0, or across "
                                   "the middle")
      .one_of({std::begin(pattern_names), std::end(pattern_names)});
  app.add("--get", c->get, "with --traffic, gets");
  app.add("--window", c->window, "with --traffic, operations of a rank under way at once (default 1)").between(1, 4096);
  app.add("--bytes", c->bytes, "of a collective's data, or of its block for each rank, or of a put (default 8,1KiB,64KiB)").by_commas().sizes();
  app.add("--epochs", c->epochs, "calls or operations, one after the other (default 10 barriers, 16 others)").between(1, 1000000);
  app.add("--seed", m.seed, "equal seeds give equal runs");
  app.add("--machine", c->file, "the machine's parameters, from FILE.json or by the name of one that is shipped; options go before it. A table of `tutti "
                                "tune` is a machine as well");
  app.add("--fabric", c->fabric, "of a table of several fabrics, this one's");
  c->given.resize(machine_parameters().size());
  for (std::size_t i = 0; i < c->given.size(); ++i) {
    const machine_parameter& p = machine_parameters()[i];
    app.add(p.option, c->given[i], (p.meaning + (": " + range_of(p)) + " (default " + text_of(p, m) + ")").c_str());
  }
  app.add("--kill", c->kills, "RANK@US: this rank dies then, in virtual time; may be repeated").one_each();
  app.add("--compute", c->compute, "of a program: what a microsecond of its processor's work takes in virtual time; 0: it works in no time, and equal "
                                   "runs are the same bit for bit (default 1)")
      .between(0.0, 1e6);
  app.add("--json", c->json, "write the results to this file, with the machine");
  app.add("--html", c->html, "write a page with plots to this file");
  app.add("--regret", c->regret, "what a job chooses against the best candidate, for 2, 4, 8 and 16 ranks or those given");
  app.add("--wrong", c->wrong, "with --regret, what it would be if the chooser took each constant for so many times what it is, and for "
                               "that part of it, with and without TUTTI_TUNE=online")
      .between(1.0, 1e6);
  app.add("--validate", c->validated, "a table of `tutti tune`: what it measured of collectives, beside what is simulated on a machine of its calibration");
  app.add("--simgrid", c->simgrid, "barriers and allreduces beside SimGrid's simulation of the same machine, where it is installed, for 16 and 1000 ranks or "
                                   "those given");
  app.add("--details", c->details, "with --regret, every candidate, and what it was expected to take; with --validate, every candidate");
  return [c, app] {
    if (!c->validated.empty()) return tell_validation({c->validated, c->fabric, c->only, c->json, c->html, c->details});
    c->program = app.program();
    if (const status s = settle(*c); s.failed()) return complain(s.text(), usage_error);
    if (c->regret) return tell_sim_regret({c->on.par, c->counts, c->only, c->details, c->wrong});
    if (c->simgrid) return compare_with_simgrid({c->on.par, c->counts, c->only, c->bytes, c->epochs ? c->epochs : 10, own_path()});
    return simulate(*c);
  };
}

}  // namespace

const command sim_command{"sim", "Barriers, collectives, puts and programs among thousands of simulated ranks", declare};

}  // namespace tutti::tools
