// Ten thousand ranks in one thread: a dissemination barrier by a state machine of two words, at a few KiB a rank.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cstdio>

#include "tests/harness/resources.h"
#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct barrier_state {
  std::uint32_t round = 0;
  bool sent = false;
};

// One barrier by dissemination: in round k signal the rank 2^k further on, wait for the one 2^k behind.
status disseminate(sim::world& w, const std::vector<rank_memory>& m, std::uint64_t epoch) {
  const std::uint32_t n = w.size(), rounds = static_cast<std::uint32_t>(std::bit_width(n - 1));
  std::vector<barrier_state> states(n);
  return w.drive([&](rank_t r) {
    barrier_state& s = states[r];
    transport& t = w.net(r);
    t.progress();
    while (s.round < rounds) {
      if (!s.sent) {
        const rma_op op = signal_op((r + (1u << s.round)) % n, m[r].all, 8 * s.round, epoch);
        if (!t.submit({&op, 1})) return false;
        s.sent = true;
      }
      if (!reached(m[r].word(8 * s.round), epoch)) return false;
      ++s.round, s.sent = false;
    }
    return true;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(ten_thousand_ranks) {
  constexpr std::uint32_t n = 10000;
  const std::size_t before = resident_bytes();
  sim::parameters p;
  p.ranks = n;
  sim::world w(p);
  auto m = expose(w, 14 * 64);
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    const status s = disseminate(w, m, epoch);
    BOOST_TEST(s.ok(), s.text());
  }
  const std::size_t each = (resident_bytes() - before) / n;
  BOOST_TEST_MESSAGE(each << " bytes a rank, " << w.stats().events << " events");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  BOOST_TEST(each < 4096u);
#endif
  BOOST_TEST(w.stats().messages == 3ull * 14 * n);
  BOOST_TEST(us(w.clock(0)) == 3 * 14 * (p.cost.overhead_us + p.cost.latency_us), boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(steps_under_every_freedom_and_deterministic) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::uint64_t trace[2];
    for (auto& out : trace) {
      sim::parameters p;
      p.ranks = 2 + static_cast<std::uint32_t>(seed), p.seed = seed;
      p.jitter = 4, p.noise_us = 1, p.refuse = 0.2;
      sim::world w(p);
      auto m = expose(w, 14 * 64);
      for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
        const status s = disseminate(w, m, epoch);
        BOOST_TEST(s.ok(), s.text());
      }
      out = w.stats().trace;
    }
    BOOST_TEST(trace[0] == trace[1]);
  }
}

BOOST_AUTO_TEST_CASE(a_step_gets_its_timer) {
  sim::world w({.ranks = 2});
  (void)expose(w, 64);
  int calls = 0;
  BOOST_TEST(w.drive([&](rank_t r) {
    using namespace std::chrono_literals;
    if (r == 1) return true;
    if (w.net(0).now() >= time_point(3us)) return true;
    ++calls;
    w.call_again(0, time_point(3us));
    return false;
  }).ok());
  BOOST_TEST(calls == 1);
  BOOST_TEST(us(w.clock(0)) == 3.0);
}

BOOST_AUTO_TEST_CASE(a_deadlock_among_steps_is_told) {
  sim::world w({.ranks = 40});
  auto m = expose(w, 64);
  w.note(7, "the barrier's second round");
  const status s = w.drive([&](rank_t r) { return r % 2 == 0; });
  const std::string text = s.text();
  BOOST_TEST((s.code() == errc::timed_out));
  BOOST_TEST(text.find("20 of 40 ranks wait: 1, 3, 5, 7 (the barrier's second round), 9") != text.npos);
}

BOOST_AUTO_TEST_CASE(a_dead_rank_is_not_stepped) {
  sim::parameters p{.ranks = 3};
  p.deaths = {{1, 2.0}};
  sim::world w(p);
  auto m = expose(w, 64);
  bool stepped_dead = false;
  const status s = w.drive([&](rank_t r) {
    if (!w.alive(r)) stepped_dead = true;
    return r != 1 && w.net(r).health(1).failed();
  });
  BOOST_TEST(s.ok(), s.text());
  BOOST_TEST(!stepped_dead);
}
