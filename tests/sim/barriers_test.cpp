// Every barrier algorithm as a job runs it, on the simulated fabric: every size, random arrivals, reordering, refusals,
// lost datagrams, and the wrap of the epoch. No rank may leave an epoch before all have entered it.
#include <boost/test/unit_test.hpp>

#include <cstdlib>

#include "collectives/communicator.h"
#include "providers/sim/random.h"
#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint64_t epochs = 4;

std::unique_ptr<job> join(sim::world& w, rank_t r) {
  job_options options;
  options.world_lines = communicator::world_lines;
  std::vector<std::byte> blob;
  auto j = need(job::offer(w.boot(r), w.net(r), options, blob));
  const host_id host = w.boot(r).host();
  const auto hosts = need(w.boot(r).allgather(host, time_point::max()));
  const auto all = need(w.boot(r).allgather(blob, time_point::max()));
  const auto in = need(job::digest(*all, std::make_shared<layout>(make_layout(*hosts))));
  const status s = j->accept(in);
  need(s.ok(), s.text());
  return j;
}

// "": right; else what went wrong.
std::string barrier_run(sim::parameters p, const algorithm& a, std::uint64_t first_epoch) {
  sim::world w(p);
  std::vector<std::uint64_t> entered(p.ranks);
  try {
    const status s = w.run([&](rank_t r) {
      auto j = join(w, r);
      candidate choice;
      choice.row = &a;
      auto barrier = need(team_barrier::open(j->world(), choice, first_epoch));
      sim::random mine(p.seed * 1000 + r);
      for (std::uint64_t e = 1; e <= epochs; ++e) {
        if (mine.chance(0.5)) w.compute(r, mine.unit() * 50);
        entered[r] = e;
        const status in = barrier->enter();
        need(in.ok(), in.text());
        for (rank_t q = 0; q < p.ranks; ++q) need(entered[q] >= e, "rank " + std::to_string(q) + " was not there yet");
      }
      // Leave together, and drive the job meanwhile: a multicast root owes repairs after it has left its barrier.
      (void)need(j->world().exchange({}));
      barrier.reset();
      j.reset();
    });
    return s.ok() ? "" : s.text();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

sim::parameters some_machine(std::uint32_t ranks, std::uint64_t seed) {
  sim::parameters p;
  p.ranks = ranks, p.seed = seed;
  p.limit_us = 1e6;
  if (seed % 3) {
    p.jitter = 3, p.noise_us = 1, p.refuse = 0.1;
    p.mcast_loss = 0.1, p.mcast_duplicate = 0.1, p.mcast_reorder = 0.2;
  }
  p.ranks_per_node = 1 + static_cast<std::uint32_t>(seed % 4);
  p.target_must_progress = seed % 5 == 1;
  return p;
}

}  // namespace

// `sim_barriers_test -- 1000` runs a thousand seeds of each instead of two.
BOOST_AUTO_TEST_CASE(no_rank_leaves_before_all_have_entered) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  const std::uint64_t seeds = suite.argc > 1 ? std::strtoull(suite.argv[1], nullptr, 10) : 2;
  for (const algorithm& a : algorithms(collective::barrier)) {
    for (std::uint32_t n = 1; n <= 64; n += n < 18 ? 1 : 15) {
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const std::uint64_t s = seed * 977 + n;
        const std::string seen = barrier_run(some_machine(n, s), a, seed % 2 ? 1 : ~std::uint64_t{0} - 1);
        BOOST_TEST(seen.empty(), a.name << ", " << n << " ranks, seed " << s << ": " << seen);
      }
    }
  }
}
