// What a job chooses on the simulated fabric, against the best candidate: both exact, so a price that is wrong shows here.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "tools/sim/regret.h"

using namespace tutti;
using namespace tutti::tools;

namespace {

struct fabric {
  const char* name;
  loggp cost;
  std::uint32_t ranks_per_node;
};
const fabric fabrics[] = {{"the usual one", {1.0, 0.2, 0.1, 10.0}, 1}, {"slow", {20, 5, 1, 1}, 1}, {"two nodes", {1.0, 0.2, 0.1, 10.0}, 4}};

sim::parameters machine(const fabric& f, std::uint32_t ranks) {
  sim::parameters p;
  p.ranks = ranks, p.ranks_per_node = f.ranks_per_node, p.cost = f.cost;
  p.queue_depth = 4096;
  return p;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_chosen_is_nearly_the_best) {
  const std::uint64_t sizes[] = {8, 8 << 10, 64 << 10};
  double logs = 0;
  int several = 0;
  for (const fabric& f : fabrics)
    for (const std::uint32_t ranks : {4u, 7u})
      for (unsigned i = 0; i < collectives; ++i) {
        const auto all = measure_choices(machine(f, ranks), static_cast<collective>(i), sizes);
        BOOST_REQUIRE_MESSAGE(all, all.error().text());
        for (const sim_choice& s : *all) {
          if (s.all.size() < 2) continue;
          logs += std::log(s.regret()), ++several;
          BOOST_TEST(s.regret() <= 1.10, name_of(s.of) << " of " << s.bytes << " bytes, " << ranks << " ranks, " << f.name << ": "
                                                       << s.chosen().name << " takes " << s.chosen().us << " us, expected "
                                                       << s.chosen().price_us << "; " << s.best().name << " " << s.best().us
                                                       << ", expected " << s.best().price_us);
        }
      }
  BOOST_TEST(std::exp(logs / several) <= 1.02);
  BOOST_TEST_MESSAGE(several << " choices, geometric mean of the regret " << std::exp(logs / several));
}

// Long blocks go out of the callers' own memory: what peers ask of an adapter comes before what its rank sends afterwards.
BOOST_AUTO_TEST_CASE(long_blocks_are_got_by_the_fabric) {
  const std::uint64_t bytes = 1 << 20;
  for (const collective of : {collective::alltoall, collective::allgather})
    for (const std::uint32_t ranks : {2u, 4u}) {
      const auto all = measure_choices(machine(fabrics[0], ranks), of, {&bytes, 1});
      BOOST_REQUIRE_MESSAGE(all, all.error().text());
      BOOST_TEST(all->front().regret() <= 1.02, name_of(of) << " among " << ranks << ": " << all->front().chosen().name << " for " << all->front().best().name);
    }
}

// What turns of shared cores take, and copies, are the machine's own.
BOOST_AUTO_TEST_CASE(the_chooser_knows_the_machine) {
  const std::uint64_t bytes = 64 << 10;
  sim::parameters slow = machine(fabrics[0], 4), shared = machine(fabrics[0], 4);
  slow.copies = {0.1, 0.1};
  shared.ranks_per_node = 4, shared.cores = {.per_node = 2, .turn_us = 50};
  for (const sim::parameters& p : {slow, shared}) {
    const auto all = measure_choices(p, collective::allreduce, {&bytes, 1});
    BOOST_REQUIRE_MESSAGE(all, all.error().text());
    const sim_choice::candidate_time& chosen = all->front().chosen();
    BOOST_TEST(chosen.price_us > 0.3 * chosen.us, chosen.name << " takes " << chosen.us << " us, expected " << chosen.price_us);
    BOOST_TEST(chosen.price_us < 3 * chosen.us, chosen.name << " takes " << chosen.us << " us, expected " << chosen.price_us);
  }
}
