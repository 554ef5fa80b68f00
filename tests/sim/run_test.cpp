// How ranks run: determinism, deadlocks, deaths, exceptions, the exchange, and a world of one.
#include <boost/test/unit_test.hpp>

#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

sim::parameters hostile(std::uint32_t ranks, std::uint64_t seed) {
  sim::parameters p;
  p.ranks = ranks, p.seed = seed;
  p.jitter = 5, p.noise_us = 2, p.refuse = 0.2;
  return p;
}

// Everyone signals everyone and waits for all, three times; what it leaves is the world's trace.
sim::statistics exercise(const sim::parameters& p) {
  sim::world w(p);
  auto m = expose(w, 1024);
  const status s = w.run([&](rank_t r) {
    for (std::uint64_t round = 1; round <= 3; ++round) {
      for (rank_t to = 0; to < w.size(); ++to) send(w.net(r), signal_op(to, m[r].all, 0, 1, signal_how::add));
      sleep_until(w.net(r), [&] { return m[r].word(0) >= round * w.size(); });
    }
  });
  BOOST_TEST(s.ok(), s.text());
  return w.stats();
}

}  // namespace

BOOST_AUTO_TEST_CASE(same_seed_same_run) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto a = exercise(hostile(7, seed)), b = exercise(hostile(7, seed)), c = exercise(hostile(7, seed + 1000));
    BOOST_TEST(a.trace == b.trace);
    BOOST_TEST(a.events == b.events);
    BOOST_TEST(a.refused == b.refused);
    BOOST_TEST(a.trace != c.trace);
  }
}

BOOST_AUTO_TEST_CASE(a_deadlock_names_who_waits_and_for_what) {
  sim::world w({.ranks = 4});
  auto m = expose(w, 64);
  const status s = w.run([&](rank_t r) {
    if (r == 1) return;
    if (r == 2) w.note(2, "word 3 of rank 1");
    sleep_until(w.net(r), [&] { return m[r].word(3) == 1; });
  });
  BOOST_REQUIRE(s.failed());
  const std::string text = s.text();
  BOOST_TEST_INFO(text);
  BOOST_TEST((s.code() == errc::timed_out));
  BOOST_TEST(text.find("3 of 4 ranks wait: 0, 2 (word 3 of rank 1), 3") != text.npos);
  BOOST_TEST((w.run([](rank_t) {}).code() == errc::invalid));  // its ranks are stuck for ever
}

BOOST_AUTO_TEST_CASE(ranks_that_only_poll_are_found_stalled) {
  sim::world w({.ranks = 3});
  auto m = expose(w, 64);
  const status s = w.run([&](rank_t r) {
    while (m[r].word(0) == 0) w.net(r).progress();
  });
  BOOST_TEST((s.code() == errc::timed_out));
}

BOOST_AUTO_TEST_CASE(ranks_that_repeat_themselves_for_ever_meet_the_limit) {
  sim::parameters p{.ranks = 2};
  p.limit_us = 500;
  sim::world w(p);
  auto m = expose(w, 64);
  const status s = w.run([&](rank_t r) {
    for (std::uint64_t i = 1;; ++i) {
      send(w.net(r), signal_op(1 - r, m[r].all, 0, i));
      sleep_until(w.net(r), [&] { return m[r].word(0) >= i; });
    }
  });
  BOOST_TEST((s.code() == errc::timed_out));
  BOOST_TEST(us(w.clock(0)) <= 501.0);
}

BOOST_AUTO_TEST_CASE(others_run_while_a_rank_without_transport_computes) {
  sim::world w({.ranks = 2});
  bool told = false;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) while (!told) w.compute(0, 10);
    else w.compute(1, 95), told = true;
  }).ok());
  BOOST_TEST(us(w.clock(0)) == 100.0);
}

BOOST_AUTO_TEST_CASE(a_sleep_ends_at_its_deadline) {
  sim::world w({.ranks = 1});
  BOOST_TEST(w.run([&](rank_t) {
    using namespace std::chrono_literals;
    const time_point start = w.net(0).now();
    w.net(0).sleep(w.net(0).arm(), start + 24h);
    BOOST_TEST((w.net(0).now() - start == 24h));
  }).ok());
}

BOOST_AUTO_TEST_CASE(an_exception_comes_back) {
  sim::world w({.ranks = 3});
  auto m = expose(w, 64);
  BOOST_CHECK_THROW((void)w.run([&](rank_t r) {
    if (r == 1) throw std::out_of_range("mine");
    sleep_until(w.net(r), [&] { return m[r].word(0) == 1; });
  }), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(a_dead_rank_is_told_and_the_others_go_on) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto p = seed % 2 ? hostile(4, seed) : sim::parameters{.ranks = 4, .seed = seed};
    p.deaths = {{2, 50}};
    sim::world w(p);
    auto m = expose(w, 4096);
    std::array<bool, 4> returned{};
    const status s = w.run([&](rank_t r) {
      transport& t = w.net(r);
      if (r == 2) {
        sleep_until(t, [&] { return m[r].word(0) == 99; });  // never
      } else {
        const time_point killed = time_point(std::chrono::microseconds(50));
        sleep_until(t, [&] { return t.health(2).failed(); });
        need(t.health(2).code() == errc::peer_dead && t.health(2).peer() == 2, "health names the dead");
        need(t.now() - killed < std::chrono::seconds(1), "within a second");
        need(t.health(2).native() != peer_left, "a death is no leave");
        completion put, get, flush, again;
        std::uint64_t word = 0;
        send(t, put_op(2, m[r].all, &word, 0, 8, &put));
        send(t, get_op(2, m[r].all, &word, 0, 8, &get));
        send(t, put_op(2, m[r].all, &word, 0, 8, nullptr));
        while (!t.flush(2, &flush)) t.progress();
        for (completion* c : {&put, &get, &flush}) {
          complete(t, *c);
          need(c->outcome().code() == errc::peer_dead, "every operation towards the dead ends so");
        }
        // Those that live are not touched.
        const rank_t next = r == 0 ? 1 : r == 1 ? 3 : 0;
        send(t, signal_op(next, m[r].all, 5, 1));
        sleep_until(t, [&] { return m[r].word(5) == 1; });
        while (!t.flush(next, &again)) t.progress();
        complete(t, again);
        need(again.outcome().ok(), "a living peer");
      }
      returned[r] = true;
    });
    BOOST_TEST(s.ok(), s.text());
    BOOST_TEST(!w.alive(2));
    BOOST_TEST((returned == std::array{true, true, false, true}));
  }
}

BOOST_AUTO_TEST_CASE(a_death_between_taking_and_arrival_fails_the_flush) {
  sim::parameters p{.ranks = 2};
  p.deaths = {{1, 0.5}};
  sim::world w(p);
  auto m = expose(w, 64);
  errc put_code{}, flush_code{};
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) return sleep_until(w.net(1), [] { return false; });
    completion put, flush;
    std::uint64_t word = 1;
    send(w.net(0), put_op(1, m[0].all, &word, 0, 8, &put));
    while (!w.net(0).flush(1, &flush)) w.net(0).progress();
    complete(w.net(0), put);
    complete(w.net(0), flush);
    put_code = put.outcome().code(), flush_code = flush.outcome().code();
  }).ok());
  BOOST_TEST((put_code == errc::ok));  // its source may be reused
  BOOST_TEST((flush_code == errc::peer_dead));
}

BOOST_AUTO_TEST_CASE(a_rank_that_kills_itself_does_not_return) {
  sim::world w({.ranks = 3});
  (void)expose(w, 64);
  std::array<bool, 3> after{};
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 1) w.kill(1);
    if (r == 2) sleep_until(w.net(2), [&] { return w.net(2).health(1).failed(); });
    after[r] = true;
  }).ok());
  BOOST_TEST((after == std::array{true, false, true}));
}

BOOST_AUTO_TEST_CASE(who_leaves_is_said_to_have_left) {
  sim::world w({.ranks = 2});
  auto stays = need(w.open(0));
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 1) {
      const auto mine = need(w.open(1));
      w.compute(1, 10);
    } else {
      sleep_until(*stays, [&] { return stays->health(1).native() == peer_left; });
    }
  }).ok());
  BOOST_TEST(!w.open(1).ok());
}

BOOST_AUTO_TEST_CASE(the_exchange_shares_one_table) {
  constexpr std::uint32_t n = 9;
  sim::world w(hostile(n, 5));
  std::array<shared_blobs, n> seen;
  BOOST_TEST(w.run([&](rank_t r) {
    w.compute(r, r);
    for (int round = 0; round < 3; ++round) {
      const std::vector<std::byte> mine(r + 1, std::byte(r + round));
      seen[r] = need(w.boot(r).allgather(mine, time_point::max()));
      for (rank_t i = 0; i < n; ++i) {
        const auto blob = (*seen[r])[i];
        need(blob.size() == i + 1 && blob[0] == std::byte(i + round), "blob");
      }
    }
  }).ok());
  for (const auto& s : seen) BOOST_TEST(s.get() == seen[0].get());
}

BOOST_AUTO_TEST_CASE(each_rank_has_its_own_exceptions) {
  sim::world w({.ranks = 3});
  auto m = expose(w, 64);
  const auto meet = [&](rank_t r, std::uint64_t round) {
    for (rank_t to = 0; to < 3; ++to) send(w.net(r), signal_op(to, m[r].all, 0, 1, signal_how::add));
    sleep_until(w.net(r), [&] { return m[r].word(0) >= 3 * round; });
  };
  struct waits_as_it_goes {
    std::function<void()> wait;
    ~waits_as_it_goes() { wait(); }
  };
  BOOST_TEST(w.run([&](rank_t r) {
    std::string first, again;
    try {
      try {
        throw std::runtime_error(std::to_string(r));
      } catch (const std::exception& e) {
        meet(r, 1);  // the others throw meanwhile
        first = e.what();
        throw;
      }
    } catch (const std::exception& e) {
      again = e.what();
    }
    BOOST_TEST((first == std::to_string(r) && again == first));
    try {
      const waits_as_it_goes last{[&] {
        BOOST_TEST(std::uncaught_exceptions() == 1);
        meet(r, 2);
        BOOST_TEST(std::uncaught_exceptions() == 1);
      }};
      throw r;
    } catch (rank_t caught) {
      BOOST_TEST(caught == r);
    }
    meet(r, 3);
    BOOST_TEST((std::uncaught_exceptions() == 0 && !std::current_exception()));
  }).ok());
}

BOOST_AUTO_TEST_CASE(the_exchange_ends_when_a_rank_dies_or_the_deadline_passes) {
  sim::parameters p{.ranks = 3};
  p.deaths = {{1, 5}};
  sim::world w(p);
  std::array<errc, 3> first{}, second{};
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 1) w.compute(1, 10), w.net(1).progress();
    first[r] = w.boot(r).allgather({}, time_point::max()).error().code();
    second[r] = w.boot(r).allgather({}, time_point::max()).error().code();
  }).ok());
  BOOST_TEST((first[0] == errc::peer_dead && first[2] == errc::peer_dead));
  BOOST_TEST((second[0] == errc::peer_dead && second[2] == errc::peer_dead));

  sim::world late({.ranks = 2});
  errc code{};
  BOOST_TEST(late.run([&](rank_t r) {
    if (r == 0) code = late.boot(0).allgather({}, time_point(std::chrono::milliseconds(1))).error().code();
  }).ok());
  BOOST_TEST((code == errc::timed_out));
}

BOOST_AUTO_TEST_CASE(a_world_of_one_needs_no_run) {
  auto net = need(sim_provider.open({.rank = 0, .size = 1}));
  std::span<std::byte> bytes;
  const region_id region = need(net->allocate(64, bytes));
  auto keys = std::make_shared<blob_table>();
  keys->push_back(need(net->key(region)));
  const segment_id seg = need(net->attach(rank_map::strided(0, 1), keys));
  send(*net, signal_op(0, seg, 2, 42));
  const rank_memory m{bytes, region, seg};
  sleep_until(*net, [&] { return m.word(2) == 42; });
  completion flush;
  while (!net->flush(no_rank, &flush)) net->progress();
  complete(*net, flush);
  BOOST_TEST(m.word(2) == 42u);

  auto two = sim_provider.open({.rank = 0, .size = 2});
  BOOST_TEST((two.error().code() == errc::unsupported));
  BOOST_TEST(std::string(two.error().text()).find("tutti sim") != std::string::npos);
}
