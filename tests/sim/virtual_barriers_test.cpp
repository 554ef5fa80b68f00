// Every barrier algorithm through job, team and executor, as resumable ranks: every size from 1 to 64, thousands of
// random machines. No rank may leave an epoch before all have entered it, by the order of the calls and by the clock.
#include <boost/test/unit_test.hpp>

#include <cstdlib>

#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint64_t epochs = 6;

// Who has entered which epoch, and when.
class attendance {
 public:
  explicit attendance(sim::world& w) : w_(w) {}
  void enters(rank_t r, std::uint64_t e) {
    ++present_[e];
    last_[e] = std::max(last_[e], w_.clock(r));
  }
  void leaves(rank_t r, std::uint64_t e) const {
    need(present_[e] == w_.size(), "rank " + std::to_string(r) + " left epoch " + std::to_string(e) + " when " +
                                       std::to_string(present_[e]) + " had entered it");
    need(w_.clock(r) >= last_[e], "rank " + std::to_string(r) + " left epoch " + std::to_string(e) + " at " +
                                      std::to_string(us(w_.clock(r))) + " us, the last entered it at " +
                                      std::to_string(us(last_[e])) + " us");
  }

 private:
  sim::world& w_;
  std::uint32_t present_[epochs + 1] = {};
  time_point last_[epochs + 1] = {};
};

// When ranks come to a barrier: at once, scattered, one late, or some at once and some late.
double late_us(unsigned habit, sim::random& r, rank_t rank, std::uint64_t epoch) {
  switch (habit) {
    case 0: return 0;
    case 1: return r.unit() * 20;
    case 2: return rank == epoch % 7 ? 400 : 0;
    default: return r.chance(0.3) ? r.unit() * 60 : 0;
  }
}

// "": right; else what went wrong.
std::string trial(const sim::parameters& p, const picked_barrier& barrier, std::uint64_t first_epoch, sim::random& r) {
  try {
    sim::world w(p);
    auto job = need(virtual_job::open(w, barrier, first_epoch));
    attendance books(w);
    const unsigned habit = below(r, 4);
    const status s = job->run({.epochs = epochs,
                               .compute = [&](rank_t q, std::uint64_t e) { return late_us(habit, r, q, e); },
                               .enters = [&](rank_t q, std::uint64_t e) { books.enters(q, e); },
                               .leaves = [&](rank_t q, std::uint64_t e) { books.leaves(q, e); }});
    need(s.ok(), s.text());
    for (rank_t q = 0; q < p.ranks; ++q) {
      need(job->outcome(q).ok(), job->outcome(q).text());
      need(job->epochs_left(q) == epochs, "rank " + std::to_string(q) + " is not done");
    }
    return "";
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

std::string random_trial(const algorithm& a, std::uint32_t n, std::uint64_t seed) {
  sim::random r(seed);
  const auto p = hostile_machine(n, r);
  const auto barrier = some_barrier(a, r);
  // The beginning, and where words wrap: serial comparison turns at 2^63.
  const std::uint64_t starts[] = {1, (std::uint64_t{1} << 40) - 2, (std::uint64_t{1} << 63) - 2, ~std::uint64_t{0} - 2};
  sim::world w(p);
  const auto picked = virtual_job::pick(w, barrier);
  if (!picked) return picked.error().text();
  const std::string wrong = trial(p, *picked, starts[below(r, 4)], r);
  return wrong.empty() ? wrong : to_string(picked->choice) + ": " + wrong;
}

std::uint64_t argument(int i, std::uint64_t otherwise) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  return suite.argc > i ? std::strtoull(suite.argv[i], nullptr, 10) : otherwise;
}

}  // namespace

// `sim_virtual_barriers_test -- 1000` tries a thousand machines of each size and algorithm (20 are ten thousand runs),
// `-- 1 SEED` that one.
BOOST_AUTO_TEST_CASE(nobody_leaves_before_all_have_entered) {
  const std::uint64_t times = argument(1, 20), first = argument(2, 1);
  std::uint64_t trials = 0;
  for (const algorithm& a : algorithms(collective::barrier))
    for (std::uint32_t n = 1; n <= 64; ++n)
      for (std::uint64_t seed = first; seed < first + times; ++seed, ++trials) {
        const std::string wrong = random_trial(a, n, seed);
        BOOST_TEST(wrong.empty(), a.name << ", " << n << " ranks, seed " << seed << ": " << wrong);
      }
  BOOST_TEST_MESSAGE(trials << " runs");
}

// The same trial notices barriers that are none, and fabrics that break the contract.
BOOST_AUTO_TEST_CASE(what_is_wrong_is_noticed) {
  static const algorithm hasty{
      .of = collective::barrier,
      .name = "hasty",
      .summary = "dissemination without its last round",
      .words = [](const shape& s) { return find_algorithm(collective::barrier, "dissemination")->words(s); },
      .make = [](const shape& s) {
        schedule out = find_algorithm(collective::barrier, "dissemination")->make(s);
        out.steps.resize(out.steps.size() - 2);
        return out;
      }};
  std::uint32_t early = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sim::random r(seed);
    picked_barrier barrier;
    barrier.choice.row = &hasty;
    const auto p = hostile_machine(16, r);
    barrier.lines = program::lines(hasty.words({.size = p.ranks}));
    const std::string wrong = trial(p, barrier, 1, r);
    if (wrong.find("had entered it") != wrong.npos || wrong.find("last entered it") != wrong.npos) ++early;
  }
  BOOST_TEST(early >= 20u);

  const auto noticed = [](sim::mutant m, const char* name) {
    std::uint32_t times = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      sim::random r(seed);
      auto p = hostile_machine(9, r);
      p.broken = m, p.jitter = 4;
      sim::world w(p);
      const auto picked = need(virtual_job::pick(w, {.barrier = name}));
      if (!trial(p, picked, 1, r).empty()) ++times;
    }
    return times;
  };
  BOOST_TEST(noticed(sim::mutant::atomic_twice, "counter") > 0u);
  BOOST_TEST(noticed(sim::mutant::lost_wakeup, "dissemination") > 0u);
}
