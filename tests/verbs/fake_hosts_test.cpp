// Peers on other hosts, whose processes nobody here can watch: over adapters that exist in this process alone (fake/fake.h).
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

// How long rank 0 waits, asleep, until health() tells that rank 1 is dead; it asks every 50 ms, as core/job/job.cpp does.
std::chrono::nanoseconds until_told(party& p, std::chrono::nanoseconds at_most) {
  const auto begin = p[0].now();
  while (p[0].health(1).ok() && p[0].now() - begin < at_most)
    for (const auto next = p[0].now() + 50ms; p[0].now() < next;) {
      p[0].sleep(p[0].arm(), next);
      p[0].progress();
    }
  return p[0].now() - begin;
}

}  // namespace

// With nothing under way, and an adapter that repeats for as long as the standard allows. What a busy machine adds is no part
// of the bound: one of a few attempts is within it.
BOOST_AUTO_TEST_CASE(a_death_on_another_host_is_told_within_a_second) {
  const no_breach none;
  std::chrono::nanoseconds least = 1h;
  for (int attempt = 0; attempt < 4 && least > 1s; ++attempt) {
    auto plans = roce(3);
    for (auto& plan : plans) plan.patient = true;
    fake::install(plans);
    party p(names(3), {0, 1, 1});
    p.meet();
    fake::silence("fake1");
    least = std::min(least, until_told(p, 5s));
    BOOST_TEST((p[0].health(1).code() == errc::peer_dead));
    BOOST_TEST(says(p[0].health(1), "rank 1 died: rank 1 does not answer"));
    BOOST_TEST(p[0].health(2).ok());
  }
  BOOST_TEST((least < 1s), "told after " << least.count() / 1'000'000 << " ms");
}

// So is a rank that does nothing but sleep: it wakes to ask. What health() finds out by asking comes later than it answers.
BOOST_AUTO_TEST_CASE(a_rank_that_sleeps_for_long_has_been_told) {
  const no_breach none;
  bool told = false;
  for (int attempt = 0; attempt < 4 && !told; ++attempt) {
    auto plans = roce(2);
    for (auto& plan : plans) plan.patient = true;
    fake::install(plans);
    party p(names(2), {0, 1});
    p.meet();
    for (int i = 0; i < 20; ++i) {  // its peer knows that it sleeps, so that nothing is under way from here on
      if (p[0].arm()) p[0].disarm();
      p.drive();
    }
    fake::silence("fake1");
    for (const auto end = p[0].now() + 950ms; p[0].now() < end; p[0].progress())
      p[0].sleep(p[0].arm(), end);
    told = p[0].health(1).failed();
  }
  BOOST_TEST(told);
}

// Adapters answer for ranks that do not run.
BOOST_AUTO_TEST_CASE(a_connected_peer_that_does_nothing_is_not_taken_for_dead) {
  const no_breach none;
  auto plans = roce(2);
  for (auto& plan : plans) plan.patient = true;
  fake::install(plans);
  party p(names(2), {0, 1});
  p.meet();
  BOOST_TEST((until_told(p, 1500ms) >= 1500ms));
  BOOST_TEST(p[0].health(1).ok());
}

// --- those who have not been met yet, and do not answer ----------------------------------------------------------------------

// Their connection manager gets no processor: for longer than a host may be silent.
BOOST_AUTO_TEST_CASE(a_peer_that_does_not_run_when_it_is_first_met_is_waited_for) {
  for (const int other_host : {0, 1}) BOOST_TEST_CONTEXT("on host " << other_host) {
    const no_breach none;
    fake::install(roce(2));
    party p(names(2), {0, other_host});
    fake::stop("fake1");
    const std::uint64_t payload = 7;
    completion done;
    BOOST_TEST(p.submit(0, put(plain(&payload), p.at(0, 1), 8, &done)));
    BOOST_TEST((until_told(p, 7s) >= 7s));
    BOOST_TEST(!done.idle());
    fake::go_on("fake1");
    BOOST_TEST(p.until([&] { return done.idle(); }));
    BOOST_TEST(done.outcome().ok());
    BOOST_TEST(p.flush(0, 1).ok());
    BOOST_TEST(p.word(1, 0) == payload);
    BOOST_TEST(p[0].health(1).ok());
  }
}

// Its host says so, though its goodbye got lost.
BOOST_AUTO_TEST_CASE(a_peer_that_ends_before_it_is_met_is_told_within_a_second) {
  const no_breach none;
  std::chrono::nanoseconds least = 1h;
  for (int attempt = 0; attempt < 4 && least > 1s; ++attempt) {
    fake::install(roce(3));
    party p(names(3), {0, 1, 1});
    fake::hold_datagrams("fake1", "fake0", 0);
    BOOST_TEST((until_told(p, 500ms) >= 500ms));  // it is asked after already
    p.leave(1);
    least = std::min(least, until_told(p, 10s));
    BOOST_TEST((p[0].health(1).code() == errc::peer_dead));
    BOOST_TEST_CONTEXT(p[0].health(1).text())
      BOOST_TEST(says(p[0].health(1), "rank 1 died: it does not answer (ranks of its host: 1, 2)"));
    BOOST_TEST(p.run(0, put(p.mine(0), p.at(0, 2), 4096)).ok());
  }
  BOOST_TEST((least < 1s), "told after " << least.count() / 1'000'000 << " ms");
}

BOOST_AUTO_TEST_CASE(a_peer_that_runs_and_is_not_heard_is_unreachable) {
  const no_breach none;
  fake::install(roce(2));
  party p(names(2), {0, 1});
  fake::hold_datagrams("fake1", "fake0", 0);
  BOOST_TEST((until_told(p, 15s) < 15s));
  BOOST_TEST((p[0].health(1).code() == errc::peer_dead));
  BOOST_TEST_CONTEXT(p[0].health(1).text())
    BOOST_TEST(says(p[0].health(1), "rank 1 cannot be reached through port 1 of fake0: its process answers over TCP"));
}

// Nothing tells that it lives, as where its host has fallen silent.
BOOST_AUTO_TEST_CASE(a_peer_that_answers_nothing_is_given_up_within_five_seconds) {
  const no_breach none;
  std::chrono::nanoseconds least = 1h;
  for (int attempt = 0; attempt < 3 && least > 5s; ++attempt) {
    fake::install(roce(2));
    party p(names(2), {0, 1}, false);
    fake::silence("fake1");
    const auto took = until_told(p, 30s);
    BOOST_TEST((took > 4s));
    least = std::min(least, took);
    BOOST_TEST((p[0].health(1).code() == errc::peer_dead));
    BOOST_TEST(says(p[0].health(1), "rank 1 died: it does not answer"));
  }
  BOOST_TEST((least < 5s), "told after " << least.count() / 1'000'000 << " ms");
}
