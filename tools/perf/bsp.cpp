// `tutti perf bsp`: what a superstep costs by each scheme, the parameters of the BSP machine as bspbench finds them (r, g
// and l; Bisseling 2004, 1.5), for full and sparse relations (Birk 2006, table 1), l against the processes (figure 2), g
// against the words of a put (figure 3), and from where on each scheme is the cheapest.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>

#include "tools/perf/bsp_applications.h"
#include "tools/perf/bsp_bench.h"
#include "tools/perf/measured_provider.h"
#include "tools/perf/topic.h"

namespace tutti::tools {
namespace {

struct choices : perf_topic {
  std::vector<std::string> schemes{"auto", "B", "H"};
  bool applications = false;
  int rounds = 5;
};

void print(const std::vector<bsp_case>& cases, const std::vector<std::string>& columns, const char* title) {
  std::printf("\n%-26s", title);
  for (const auto& c : columns) std::printf("%12s", c.c_str());
  std::string row;
  for (const bsp_case& c : cases) {
    if (c.row != row) std::printf("\n  %-24s", (row = c.row).c_str());
    const double us = c.us.median();
    std::printf(us < 100 ? "%12.2f" : "%12.0f", us);
  }
  std::printf("\n");
}

// The cheapest from each size on, of cases that have a size for a row or column and a scheme for the other.
void print_crossovers(const bsp_bench& b, const std::vector<std::uint32_t>& sizes, const std::vector<std::vector<double>>& costs,
                      const char* what) {
  if (b.schemes().size() < 2) return;
  std::printf("  cheapest by %s:", what);
  const char* before = " ";
  for (const crossover& c : crossovers(sizes, costs)) {
    std::printf("%s%s from %u", before, b.schemes()[c.scheme].c_str(), c.from);
    before = ", ";
  }
  std::printf("\n");
}

// --- supersteps --------------------------------------------------------------------------------------------------

struct kind {
  const char* name;
  std::function<void(bsp::engine&)> calls;
};

void measure_steps(bsp_bench& b, const choices& c) {
  const std::uint32_t p = b.processes(), s = b.me(), next = (s + 1) % p;
  std::byte *const area = b.area(), *const from = b.source();
  constexpr std::uint32_t mib = 1 << 20;
  const kind kinds[] = {
      {"empty", [](bsp::engine&) {}},
      {"8-byte put to the next", [=](bsp::engine& e) { e.put(next, from, area, 8 * s, 8); }},
      {"8-byte put to all",
       [=](bsp::engine& e) { for (std::uint32_t t = 0; t < p; ++t) e.put(t, from, area, 8 * s, 8); }},
      {"8-byte get of the next", [=](bsp::engine& e) { e.get(next, area, 8 * s, from, 8); }},
      {"8-byte message to the next", [=](bsp::engine& e) { e.send(next, nullptr, from, 8); }},
      {"1 MiB put by 0", [=](bsp::engine& e) { if (s == 0) e.put(next, from, area, 0, mib); }},
      {"1 MiB hpput by 0", [=](bsp::engine& e) { if (s == 0) e.hpput(next, from, area, 0, mib); }},
      {"1 MiB hpget by 0", [=](bsp::engine& e) { if (s == 0) e.hpget(next, area, 0, from, mib); }},
      {"1 MiB put by all", [=](bsp::engine& e) { e.put(next, from, area, 0, mib); }},
  };
  std::vector<bsp_case> cases;
  for (const kind& k : kinds)
    for (std::size_t i = 0; i < b.schemes().size(); ++i) cases.push_back({k.name, b.schemes()[i], k.calls, &b.engine(i), 1, {}});
  b.measure(cases, c.seconds);
  if (s == 0) print(cases, b.schemes(), "superstep, us");
}

// --- the machine's parameters ------------------------------------------------------------------------------------

// h words, one a put: dealt out to all others, or all to the next.
void relation(bsp::engine& e, bsp_bench& b, std::uint32_t h, bool full) {
  const std::uint32_t p = b.processes(), s = b.me();
  std::byte *const area = b.area(), *const from = b.source();
  if (p == 1 || !full) {
    const std::uint32_t to = (s + 1) % p;
    for (std::uint32_t i = 0; i < h; ++i) e.put(to, from + 8 * i, area, 8 * i, 8);
    return;
  }
  std::uint32_t to = s, round = 0;
  for (std::uint32_t i = 0; i < h; ++i) {
    if (++to == p) to = 0;
    if (to == s) ++round, to = to + 1 < p ? to + 1 : 0;
    e.put(to, from + 8 * i, area, 8ull * (round * p + s), 8);
  }
}

// The microseconds of supersteps with relations of these h, by scheme, and the line through them with its spread.
struct relation_costs {
  std::vector<std::vector<double>> us;  // [h][scheme]
  std::vector<bsp_line> lines;          // [scheme]
};

relation_costs measure_relations(bsp_bench& b, const std::vector<std::uint32_t>& hs, bool full, double seconds) {
  std::vector<bsp_case> cases;
  for (const std::uint32_t h : hs)
    for (std::size_t k = 0; k < b.schemes().size(); ++k)
      cases.push_back({std::to_string(h), b.schemes()[k], [&b, h, full](bsp::engine& e) { relation(e, b, h, full); },
                       &b.engine(k), 1, {}});
  b.measure(cases, seconds);
  relation_costs out;
  auto next = cases.begin();
  for (std::size_t i = 0; i < hs.size(); ++i)
    for (out.us.emplace_back(); out.us.back().size() < b.schemes().size(); ++next) out.us.back().push_back(next->us.median());
  for (std::size_t k = 0; k < b.schemes().size(); ++k) {
    std::vector<std::pair<double, const series*>> points;
    for (std::size_t i = 0; i < hs.size(); ++i) points.emplace_back(hs[i], &cases[i * b.schemes().size() + k].us);
    out.lines.push_back(fit(points));
  }
  return out;
}

// The line goes through long relations as well, and where g falls with h it meets h = 0 below what an empty superstep costs.
void remark_on(const std::vector<bsp_line>& lines) {
  if (std::ranges::any_of(lines, [](const bsp_line& line) { return line.l < 0; }))
    std::printf("  an l below 0: short relations cost more a word than long ones; take the time of an empty superstep for l\n");
}

void measure_machine(bsp_bench& b, const choices& c) {
  const double r = b.flops();
  if (b.me() == 0)
    std::printf("\nmachine: r = %.0f Mflop/s; +-: half of what lies between the quartiles of the rounds' lines\n"
                "  %-18s%12s%10s%14s%12s%10s%14s%12s\n", 1e-6 * r, "h-relation", "g, ns/word", "+-", "g, flop/word", "l, us", "+-", "l, flop",
                "empty, us");
  const std::vector<std::uint32_t> hs{0, 16, 64, 256, 512, 1024, 2048, 4096};
  for (const bool full : {true, false}) {
    const relation_costs costs = measure_relations(b, hs, full, c.seconds);
    if (b.me() != 0) continue;
    for (std::size_t k = 0; k < b.schemes().size(); ++k) {
      const auto& [g, l, g_spread, l_spread] = costs.lines[k];
      std::printf("  %-8s%-10s%12.2f%10.2f%14.1f%12.2f%10.2f%14.0f%12.2f\n", full ? "full" : "sparse", b.schemes()[k].c_str(), 1e3 * g,
                  1e3 * g_spread, 1e-6 * g * r, l, l_spread, 1e-6 * l * r, costs.us[0][k]);
    }
    remark_on(costs.lines);
    print_crossovers(b, hs, costs.us, full ? "h of a full relation" : "h of a sparse relation");
  }
}

// --- l against the processes -------------------------------------------------------------------------------------

// Where the line through relations of up to 4096 words begins, on the first 2, 4, 8, ... processes and on all.
void measure_processes(job& j, const choices& c) {
  team& world = j.world();
  if (world.index() == 0) {
    std::printf("\n%-26s", "l by processes, us");
    for (const auto& name : c.schemes) std::printf("%12s%10s", name.c_str(), "+-");
    std::printf("\n");
  }
  const std::vector<std::uint32_t> hs{0, 64, 512, 1024, 2048, 4096};
  for (std::uint32_t n = std::min(2u, world.size());; n = std::min(2 * n, world.size())) {
    std::vector<std::uint32_t> list(world.index() < n ? n : 0);
    std::iota(list.begin(), list.end(), 0u);
    auto some = world.create(list, [](void*, const rank_map&) { return team_request{}; }, nullptr);
    if (!some) throw std::runtime_error(some.error().text());
    if (*some) {
      bsp_bench b(**some, c.schemes);
      for (const bool full : {true, false}) {
        const relation_costs costs = measure_relations(b, hs, full, c.seconds / 2);
        if (b.me() != 0) continue;
        std::printf("  %-4u%-20s", n, full ? "full" : "sparse");
        for (const bsp_line& line : costs.lines) std::printf("%12.2f%10.2f", line.l, line.l_spread);
        std::printf("\n");
        remark_on(costs.lines);
      }
    }
    share(world, 0);  // the others sleep meanwhile
    if (n == world.size()) return;
  }
}

// --- g against the words of a put --------------------------------------------------------------------------------

constexpr std::uint32_t grain_words = 32768;  // of a superstep; a multiple of every grain and small enough for the area

struct grain_put {
  std::uint32_t to, offset;
};

// Puts to all others in turn, none where the last one to that process ended. Made beforehand, so that only puts are timed.
std::vector<grain_put> scattered(std::uint32_t me, std::uint32_t processes, std::uint32_t words) {
  std::vector<grain_put> out;
  const std::uint32_t count = grain_words / words;
  for (std::uint32_t k = 0, to = me; k < count; ++k) {
    to = (to + 1) % processes;
    if (to == me && processes > 1) to = (to + 1) % processes;
    out.push_back({to, k * 7919u % count * words * 8});
  }
  return out;
}

void measure_grain(bsp_bench& b, const choices& c) {
  const std::vector<std::uint32_t> grains{1, 2, 4, 8, 16, 32, 64, 128, 512, 2048, 8192};
  const std::uint32_t p = b.processes(), s = b.me();
  std::byte *const area = b.area(), *const from = b.source();
  std::vector<bsp_case> cases;
  for (const std::uint32_t words : grains)
    for (std::size_t i = 0; i < b.schemes().size(); ++i)
      cases.push_back({std::to_string(words), b.schemes()[i],
                       [=, puts = scattered(s, p, words)](bsp::engine& e) {
                         const std::byte* source = from;
                         for (const grain_put& g : puts) e.put(g.to, source, area, g.offset, 8 * words), source += 8 * words;
                       },
                       &b.engine(i), 1, {}});
  b.measure(cases, c.seconds);
  if (s != 0) return;
  std::printf("\n%-26s", "g by words of a put, ns/word");
  for (const auto& name : b.schemes()) std::printf("%12s", name.c_str());
  std::string row;
  std::vector<std::vector<double>> costs;
  for (const bsp_case& k : cases) {
    if (k.row != row) costs.emplace_back(), std::printf("\n  %-24s", (row = k.row).c_str());
    costs.back().push_back(1e3 * k.us.median() / grain_words);
    std::printf("%12.2f", costs.back().back());
  }
  std::printf("\n");
  print_crossovers(b, grains, costs, "words of a put");
}

void measure(const choices& c, job& j) {
  if (j.rank() == 0)
    std::printf("%u processes, %.2g a core, provider %s; medians of interleaved chunks\n", j.size(), j.ranks_per_core(),
                j.fabric().c_str());
  {
    bsp_bench b(j.world(), c.schemes);
    if (c.wants("steps")) measure_steps(b, c);
    if (c.wants("machine")) measure_machine(b, c);
    if (c.wants("grain")) measure_grain(b, c);
  }
  if (c.wants("processes")) measure_processes(j, c);
}

}  // namespace

std::function<int()> declare_bsp(options perf) {
  auto c = std::make_shared<choices>(choices{{.name = "bsp", .parts = {"steps", "machine", "processes", "grain"}, .seconds = 3}});
  options app = perf.subcommand("bsp", "supersteps: what they cost, by scheme; r, g and l of the BSP machine");
  c->declare(app, "how long to measure each part (default 3)",
             "steps (supersteps), machine (r, g, l), processes (l by processes), grain (g by words of a put); default all");
  app.add("--schemes", c->schemes, "as TUTTI_BSP; default auto,B,H").by_commas();
  app.add("--applications", c->applications, "instead: the programs of examples/bsp with 1, 2, 4, ... and -n processes, beside one alone");
  app.add("--rounds", c->rounds, "with --applications: how often each runs (default 5)").between(1, 1000);
  return [c] {
    if (c->applications) {
      try {
        return measure_applications({.ranks = c->ranks, .rounds = c->rounds});
      } catch (const std::exception& e) {
        std::fprintf(stderr, "tutti perf bsp: %s\n", e.what());
        return 1;
      }
    }
    for (const auto& s : c->schemes) c->arguments.insert(c->arguments.end(), {"--schemes", s});
    c->measure = [self = c.get()](job& j, const config&) { tools::measure(*self, j); };
    return run_topic(*c);
  };
}

}  // namespace tutti::tools
