// A rank dies at a chosen time: the barrier of every survivor ends with an error that names it.
#include <boost/test/unit_test.hpp>

#include "tests/sim/hostile.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// "": right; else what went wrong.
std::string trial(const algorithm& a, std::uint32_t n, std::uint32_t victims, std::uint64_t seed) {
  try {
    sim::random r(seed);
    auto p = hostile_machine(n, r);
    for (std::uint32_t i = 0; i < victims; ++i) p.deaths.push_back({below(r, n), r.unit() * 80});
    sim::world w(p);
    auto job = need(virtual_job::open(w, need(virtual_job::pick(w, some_barrier(a, r)))));
    // More barriers than fit into the time before the death.
    const status s = job->run({.epochs = 1'000'000, .compute = [&](rank_t, std::uint64_t) { return r.unit() * 2; }});
    need(s.ok(), s.text());
    for (rank_t q = 0; q < n; ++q) {
      if (!w.alive(q)) continue;
      const status& end = job->outcome(q);
      const std::string who = "rank " + std::to_string(q) + " ended with: " + end.text();
      need(end.code() == errc::peer_dead, who);
      need(end.peer() < n && !w.alive(end.peer()), who);
      need(std::string(end.text()).find("rank " + std::to_string(end.peer())) != std::string::npos, who);
    }
    return "";
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_survivor_is_told_who_died) {
  for (const algorithm& a : algorithms(collective::barrier))
    for (const std::uint32_t n : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 16u, 17u, 33u})
      for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        const std::string wrong = trial(a, n, 1, seed * 1000 + n);
        BOOST_TEST(wrong.empty(), a.name << ", " << n << " ranks, seed " << seed * 1000 + n << ": " << wrong);
      }
}

BOOST_AUTO_TEST_CASE(several_deaths) {
  for (const algorithm& a : algorithms(collective::barrier))
    for (const std::uint32_t n : {3u, 8u, 13u, 32u})
      for (std::uint64_t seed = 1; seed <= 25; ++seed) {
        const std::string wrong = trial(a, n, 3, seed * 1000 + n);
        BOOST_TEST(wrong.empty(), a.name << ", " << n << " ranks, seed " << seed * 1000 + n << ": " << wrong);
      }
}
