// The evaluator's prices against the simulated fabric, which runs the same schedules: where each rank has a core of its own, both
// are LogGP to the nanosecond.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "collectives/price.h"
#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

double between(sim::random& r, double least, double most) { return least * std::pow(most / least, r.unit()); }

// A link between nodes, or, scaled, one inside a node.
loggp random_link(sim::random& r, double scale) {
  const double latency = between(r, 0.3, 10) * scale;
  return {latency, between(r, 0.02, 0.5) * latency, between(r, 0.01, 0.5) * latency, between(r, 1, 20)};
}

// us from the moment when all enter until the last leaves.
double simulated(const sim::parameters& p, const communicator_options& o, candidate& picked) {
  sim::world w(p);
  const auto choice = need(virtual_job::pick(w, o));
  picked = choice.choice;
  auto job = need(virtual_job::open(w, choice));
  const time_point start = w.clock(0);
  time_point end = start;
  virtual_job::script s{.epochs = 1};
  s.leaves = [&](rank_t r, std::uint64_t) { end = std::max(end, w.clock(r)); };
  const status ran = job->run(s);
  need(ran.ok(), ran.text());
  return static_cast<double>((end - start).count()) / 1000.0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(prices_are_what_the_simulator_takes) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    sim::random r(seed);
    sim::parameters p;
    p.ranks = 2 + below(r, 63);
    p.ranks_per_node = 1 + below(r, std::min(p.ranks, 8u));
    p.cost = random_link(r, 1);
    p.node_cost = random_link(r, 0.05);
    const auto all = algorithms(collective::barrier);
    const algorithm& a = all[below(r, static_cast<std::uint32_t>(all.size()))];
    if (a.needs.offload) continue;
    candidate c;
    const double us = simulated(p, some_barrier(a, r), c);
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t i = 0; i < p.ranks; ++i) nodes.push_back(i / p.ranks_per_node);
    costs known;
    known.network = p.cost, known.node = p.node_cost;
    known.multicast_us = p.mcast_latency_us;
    known.target_works = p.target_must_progress;
    const double price = static_cast<double>(evaluate(*c.row, {0, p.ranks, c.radix, nodes, c.inner}, known)) / 1e6;
    const double off = std::abs(price / us - 1);
    worst = std::max(worst, off);
    BOOST_TEST(off <= 0.05, to_string(c) << " of " << p.ranks << ", " << p.ranks_per_node << " a node, seed " << seed
                                         << ": simulated " << us << " us, priced " << price);
  }
  BOOST_TEST_MESSAGE("at most " << worst * 100 << " % apart");
}
