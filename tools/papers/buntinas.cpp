// Buntinas, Panda, Sadayappan (2001): barriers by the processors of Myrinet adapters beside barriers by the hosts; adapters at 33 and 66 MHz.
//
// NB is tutti's offloaded barrier, HB is made of messages, as MPICH's. What MPI costs NB beside GM is the host's computation.
#include <string>

#include "tools/papers/figure.h"

namespace tutti::tools::papers {
namespace {

constexpr const char *host = "messages:pairwise", *adapter = "offloaded";

constexpr struct {
  const char* key;
  const char* machine;
  std::uint32_t nodes;
} adapters[] = {{"33", "LANai 4.3", 16}, {"66", "LANai 7.2", 8}};

using work = std::function<double(rank_t, std::uint64_t)>;

barrier_loop with_mpi(const machine& m, const work& compute, std::uint64_t turns = 40) {
  const double mpi = m.number("mpi_us");
  return {adapter, [=](rank_t r, std::uint64_t t) { return mpi + (compute ? compute(r, t) : 0); }, turns};
}

// HB and NB with what each rank computes before each barrier.
std::pair<double, double> both(lab& here, const machine& m, std::uint32_t nodes, const work& compute, std::uint64_t turns = 40) {
  const barrier_loop loops[] = {{host, compute, turns}, with_mpi(m, compute, turns)};
  const auto us = here.turns(m, nodes, loops);
  return {us[0], us[1]};
}

std::string name_of(const char* barrier, const char* adapter_key) { return std::string(barrier) + ", " + adapter_key + " MHz"; }

void gm_and_mpi(lab& here, measured& m) {
  for (const auto& a : adapters) {
    const std::string key = a.key;
    const machine& one = here.at(a.machine);
    m.pictures.push_back({std::string("NB, ") + a.machine, "nodes", "us", {"gm" + key, "mpi" + key}});
    for (std::uint32_t n = 2; n <= a.nodes; n *= 2) {
      const barrier_loop loops[] = {{adapter, {}}, with_mpi(one, {})};
      const auto us = here.turns(one, n, loops);
      m.add("gm" + key, "GM", n, us[0]);
      m.add("mpi" + key, "MPI", n, us[1]);
      m.add("over" + key, "MPI's part", n, us[1] - us[0]);
    }
  }
}

void latency(lab& here, measured& m) {
  m.pictures.push_back({"Barrier", "nodes", "us", {"hb33", "nb33", "hb66", "nb66"}});
  m.pictures.push_back({"HB over NB", "nodes", "", {"by33", "by66"}});
  for (const auto& a : adapters) {
    const std::string key = a.key;
    for (std::uint32_t n = 2; n <= a.nodes; ++n) {
      const auto [hb, nb] = both(here, here.at(a.machine), n, {});
      m.add("hb" + key, name_of("HB", a.key), n, hb);
      m.add("nb" + key, name_of("NB", a.key), n, nb);
      m.add("by" + key, key + " MHz", n, hb / nb);
    }
  }
}

void granularity(lab& here, measured& m) {
  m.pictures.push_back({"A turn of computation and barrier, 8 nodes", "computation, us", "us", {"hb33", "nb33", "hb66", "nb66"}});
  for (const auto& a : adapters) {
    const std::string key = a.key;
    for (const double c : {1.5, 8.0, 17.0, 32.0, 64.0, 129.75}) {
      const auto [hb, nb] = both(here, here.at(a.machine), 8, [c](rank_t, std::uint64_t) { return c; });
      m.add("hb" + key, name_of("HB", a.key), c, hb);
      m.add("nb" + key, name_of("NB", a.key), c, nb);
    }
  }
}

// The computation c for which c is that part of a turn.
double turn_at(lab& here, const machine& m, std::uint32_t nodes, double efficiency, bool by_adapter) {
  double c = 100;
  double turn = 0;
  for (int i = 0; i < 4; ++i) {
    const work compute = [c](rank_t, std::uint64_t) { return c; };
    turn = here.turn(m, nodes, by_adapter ? with_mpi(m, compute) : barrier_loop{host, compute});
    c = efficiency / (1 - efficiency) * (turn - c);
  }
  return turn;
}

void efficiency(lab& here, measured& m) {
  for (const auto& a : adapters) {
    const std::string key = a.key;
    m.pictures.push_back({std::string("A turn by efficiency, ") + a.machine, "nodes", "us", {}});
    for (const double e : {0.25, 0.5, 0.75, 0.9})
      for (const bool nb : {false, true}) {
        const std::string text = std::to_string(static_cast<int>(100 * e + 0.5));
        const std::string curve = (nb ? "nb" : "hb") + key + " " + text;
        m.pictures.back().keys.push_back(curve);
        for (std::uint32_t n = 2; n <= a.nodes; n *= 2)
          m.add(curve, std::string(nb ? "NB" : "HB") + " at 0." + text, n, turn_at(here, here.at(a.machine), n, e, nb));
      }
  }
}

// In [-1, 1], of rank and turn.
double deviate(rank_t r, std::uint64_t turn) {
  std::uint64_t z = (r * 0x9e3779b97f4a7c15u) ^ (turn * 0xbf58476d1ce4e5b9u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

void variation(lab& here, measured& m) {
  m.pictures.push_back({"A turn, computation +- 20 %, 16 nodes, 33 MHz", "computation, us", "us", {"hb", "nb"}, true, true});
  m.pictures.push_back({"HB - NB, by the variation", "computation, us", "us", {"by 0", "by 5", "by 10", "by 20"}, true});
  const machine& one = here.at("LANai 4.3");
  for (const int part : {0, 5, 10, 20})
    for (double c = 64; c <= 4096; c *= 4) {
      const auto [hb, nb] = both(here, one, 16, [=](rank_t r, std::uint64_t t) { return c * (1 + part / 100.0 * deviate(r, t)); }, 80);
      m.add("by " + std::to_string(part), "+- " + std::to_string(part) + " %", c, hb - nb);
      if (part == 20) m.add("hb", "HB", c, hb), m.add("nb", "NB", c, nb);
    }
}

void applications(lab& here, measured& m) {
  const std::vector<double> steps[] = {
      {10, 20, 30, 40, 50, 60, 70, 80},
      {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180, 190, 200},
      {100, 500, 1000, 2000, 3000, 500, 500, 250, 600, 1000}};
  const char* names[] = {"360", "2100", "9450"};
  for (const auto& a : adapters) {
    m.pictures.push_back({std::string("HB over NB, ") + a.machine, "nodes", "", {}});
    for (std::size_t k = 0; k < 3; ++k) {
      const std::string key = std::string(names[k]) + "/" + a.key;
      m.pictures.back().keys.push_back(key);
      for (std::uint32_t n = 2; n <= a.nodes; n *= 2) {
        const std::vector<double>& all = steps[k];
        const auto [hb, nb] = both(here, here.at(a.machine), n,
                                   [&](rank_t r, std::uint64_t t) { return all[(t - 1) % all.size()] * (1 + 0.1 * deviate(r, t)); }, 4 * all.size());
        m.add(key, std::string(names[k]) + " us", n, hb / nb);
      }
    }
  }
}

}  // namespace

const std::vector<figure> buntinas_figures = {
    {"buntinas-3", "buntinas", gm_and_mpi}, {"buntinas-4", "buntinas", latency},   {"buntinas-6", "buntinas", granularity},
    {"buntinas-7", "buntinas", efficiency}, {"buntinas-8", "buntinas", variation}, {"buntinas-10", "buntinas", applications},
};

}  // namespace tutti::tools::papers
