// Datagrams: to all others, lost, repeated and reordered as often as asked, never corrupted.
#include <boost/test/unit_test.hpp>
#include <map>

#include "core/transport/multicast.h"
#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct tally {
  std::uint64_t received = 0, repeated = 0, reordered = 0, corrupted = 0;
};

// Rank 0 sends `count` datagrams, the others take whatever comes within a second.
tally storm(sim::world& w, std::uint32_t count) {
  tally all;
  std::vector<std::byte> token;
  const rank_map members = rank_map::strided(0, w.size());
  const auto root = need(w.net(0).mcast()->create(members, token, time_point::max()));
  std::vector<multicast::group_id> group(w.size(), root);
  for (rank_t r = 1; r < w.size(); ++r) group[r] = need(w.net(r).mcast()->join(members, token, time_point::max()));
  const status s = w.run([&](rank_t r) {
    transport& t = w.net(r);
    if (r == 0) {
      for (std::uint32_t i = 0; i < count; ++i) {
        std::vector<std::byte> payload(i % 50, std::byte(i));
        while (!t.mcast()->send(group[0], i, payload)) t.progress();
        w.compute(0, 5);
        t.progress();
      }
      return;
    }
    std::map<std::uint32_t, int> seen;
    const time_point end(std::chrono::seconds(1));
    std::uint32_t last = 0;
    while (t.now() < end) {
      sleep_until(t, [&] {
        multicast::datagram d;
        if (!t.mcast()->receive(group[r], d)) return false;
        ++all.received;
        if (++seen[d.tag] > 1) ++all.repeated;
        else if (d.tag < last) ++all.reordered;
        last = std::max(last, d.tag);
        bool good = d.from == 0 && d.payload.size() == d.tag % 50;
        for (const std::byte b : d.payload) good &= b == std::byte(d.tag);
        all.corrupted += !good;
        return false;
      }, end);
    }
  });
  BOOST_TEST(s.ok(), s.text());
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_arrive_in_a_quiet_world_at_the_multicasts_latency) {
  sim::parameters p{.ranks = 5};
  p.mcast_latency_us = 3;
  sim::world w(p);
  const tally t = storm(w, 200);
  BOOST_TEST(t.received == 800u);
  BOOST_TEST(t.repeated + t.reordered + t.corrupted == 0u);
  BOOST_TEST(w.stats().datagrams_sent == 200u);
  BOOST_TEST(w.stats().datagrams_due == 800u);
}

BOOST_AUTO_TEST_CASE(the_rates_are_the_ones_asked_for) {
  sim::parameters p{.ranks = 5, .seed = 3};
  p.jitter = 1, p.mcast_loss = 0.2, p.mcast_duplicate = 0.1, p.mcast_reorder = 0.3;
  sim::world w(p);
  const tally t = storm(w, 5000);
  const auto& s = w.stats();
  BOOST_TEST(s.datagrams_due == 20000u);
  BOOST_TEST(static_cast<double>(s.datagrams_lost) / 20000 == 0.2, boost::test_tools::tolerance(0.1));
  BOOST_TEST(static_cast<double>(s.datagrams_duplicated) / 16000 == 0.1, boost::test_tools::tolerance(0.15));
  BOOST_TEST(t.received == s.datagrams_due - s.datagrams_lost + s.datagrams_duplicated - s.datagrams_overrun);
  BOOST_TEST(t.repeated == s.datagrams_duplicated);
  BOOST_TEST(t.reordered > 100u);
  BOOST_TEST(t.corrupted == 0u);
}

BOOST_AUTO_TEST_CASE(a_slow_receiver_loses_what_does_not_fit) {
  sim::parameters p{.ranks = 2};
  p.mcast_depth = 8;
  sim::world w(p);
  std::vector<std::byte> token;
  const rank_map members = rank_map::strided(0, 2);
  const auto a = need(w.net(0).mcast()->create(members, token, time_point::max()));
  const auto b = need(w.net(1).mcast()->join(members, token, time_point::max()));
  int got = 0;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) {
      for (std::uint32_t i = 0; i < 20; ++i) (void)w.net(0).mcast()->send(a, i, {});
    } else {
      w.compute(1, 1000), w.net(1).progress();
      multicast::datagram d;
      while (w.net(1).mcast()->receive(b, d)) BOOST_TEST(d.tag == static_cast<std::uint32_t>(got++));
    }
  }).ok());
  BOOST_TEST(got == 8);
  BOOST_TEST(w.stats().datagrams_overrun == 12u);
}

BOOST_AUTO_TEST_CASE(only_members_join_and_who_left_hears_nothing) {
  sim::world w({.ranks = 3});
  std::vector<std::byte> token;
  const rank_map pair = rank_map::strided(0, 2);
  const auto g = need(w.net(0).mcast()->create(pair, token, time_point::max()));
  BOOST_TEST(!w.net(2).mcast()->join(pair, token, time_point::max()).ok());
  BOOST_TEST(!w.net(1).mcast()->join(pair, {}, time_point::max()).ok());
  const auto h = need(w.net(1).mcast()->join(pair, token, time_point::max()));
  w.net(1).mcast()->leave(h);
  BOOST_TEST(w.net(0).mcast()->send(g, 1, {}));
  BOOST_TEST(w.stats().datagrams_due == 0u);
}
