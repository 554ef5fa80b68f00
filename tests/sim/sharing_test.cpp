// What LogGP leaves out beside the links, worked out by hand: an adapter for a node, cores that ranks share, disturbances,
// set-up, multicast by its members.
#include <boost/test/unit_test.hpp>

#include "core/transport/multicast.h"
#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr auto nearly = [] { return boost::test_tools::tolerance(1e-9); };

sim::parameters machine(std::uint32_t ranks) {
  sim::parameters p;
  p.ranks = ranks;
  p.cost = {2.0, 0.5, 0.25, 1.0};
  p.node_cost = {0.2, 0.1, 0.05, 10.0};
  return p;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_of_a_node_take_turns_at_its_adapter) {
  // Ranks 0 and 1 of one node signal rank 2 of the next at once. Each has an adapter: they arrive at once, and the target's
  // takes in one a g. One adapter: the second one leaves g later; it comes when the target's adapter is free again.
  for (const bool shared : {false, true}) {
    auto p = machine(4);
    p.ranks_per_node = 2, p.shared_adapters = shared;
    sim::world w(p);
    auto m = expose(w, 4096);
    std::vector<std::byte> from(1000);
    double first = 0;
    BOOST_TEST(w.run([&](rank_t r) {
      if (r < 2) {
        rma_op op = put_op(2 + r, m[r].all, from.data(), 64, 1000, nullptr);
        op.kind = op_kind::put_signal, op.signal = m[r].all, op.signal_offset = 0, op.operand = 1;
        send(w.net(r), op);
      } else {
        sleep_until(w.net(r), [&] { return m[r].word(0) == 1; });
        if (r == 2) first = us(w.clock(2));
      }
    }).ok());
    BOOST_TEST(first == 0.5 + 2.0 + 1.0, nearly());
    BOOST_TEST(us(w.clock(3)) == (shared ? 0.5 + 1.0 + 0.25 + 2.0 + 1.0 : first), nearly());
  }
}

BOOST_AUTO_TEST_CASE(a_shared_adapter_serves_in_the_order_of_time_not_of_calls) {
  auto p = machine(4);
  p.ranks_per_node = 2, p.shared_adapters = true;
  sim::world w(p);
  auto m = expose(w, 4096);
  std::vector<std::byte> from(1000);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) {  // runs first, and posts two, at 0.5 and 1.0
      for (int i = 0; i < 2; ++i) {
        rma_op op = put_op(2, m[r].all, from.data(), 64, 1000, nullptr);
        op.kind = op_kind::put_signal, op.signal = m[r].all, op.operand = 1, op.how = signal_how::add;
        send(w.net(r), op);
      }
    } else if (r == 1) {  // posts one at 0.8
      w.compute(1, 0.3);
      rma_op op = put_op(3, m[r].all, from.data(), 64, 1000, nullptr);
      op.kind = op_kind::put_signal, op.signal = m[r].all, op.operand = 1;
      send(w.net(r), op);
    } else {
      sleep_until(w.net(r), [&] { return m[r].word(0) == 4 - r; });
    }
  }).ok());
  BOOST_TEST(us(w.clock(3)) == 0.5 + 1.25 + 1.0 + 2.0, nearly());       // behind the first one
  BOOST_TEST(us(w.clock(2)) == 0.5 + 2 * 1.25 + 1.0 + 2.0, nearly());   // the second one behind it
}

BOOST_AUTO_TEST_CASE(what_a_rank_posted_leaves_though_it_is_gone) {
  auto p = machine(4);
  p.ranks_per_node = 2, p.shared_adapters = true;
  sim::world w(p);
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) send(w.net(0), signal_op(2, m[0].all, 0, 1));
    if (r == 2) sleep_until(w.net(2), [&] { return m[2].word(0) == 1; });
  }).ok());
  BOOST_TEST(us(w.clock(2)) == 2.5);
}

BOOST_AUTO_TEST_CASE(a_core_is_one_ranks_at_a_time) {
  // Two ranks compute 10 us each: side by side on two cores, one after the other on one.
  for (const std::uint32_t cores : {2u, 1u}) {
    auto p = machine(2);
    p.ranks_per_node = 2, p.cores = {cores, 0};
    sim::world w(p);
    auto m = expose(w, 64);
    BOOST_TEST(w.run([&](rank_t r) { w.compute(r, 10); }).ok());
    BOOST_TEST(us(w.clock(0)) == 10);
    BOOST_TEST(us(w.clock(1)) == (cores == 1 ? 20 : 10));
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_waited_has_let_each_other_one_look) {
  // Ranks 0, 1 and 2 wait on one core for rank 3 of another node; each goes on when its signal is there and its mates that wait
  // have had a turn.
  auto p = machine(6);
  p.ranks_per_node = 3, p.cores = {1, 1.5};
  sim::world w(p);
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 3) {
      send(w.net(3), signal_op(1, m[3].all, 0, 1));
      w.compute(3, 100);
      send(w.net(3), signal_op(0, m[3].all, 0, 1));
      w.compute(3, 100);
      send(w.net(3), signal_op(2, m[3].all, 0, 1));
    }
    if (r < 3) sleep_until(w.net(r), [&] { return m[r].word(0) == 1; });
  }).ok());
  BOOST_TEST(us(w.clock(1)) == 2.5 + 2 * 1.5, nearly());          // 0 and 2 wait
  BOOST_TEST(us(w.clock(0)) == 100.5 + 2.5 + 1 * 1.5, nearly());  // 2 waits, 1 has ended
  BOOST_TEST(us(w.clock(2)) == 201.0 + 2.5, nearly());            // nobody else waits
}

BOOST_AUTO_TEST_CASE(connections_cost_once_for_each_peer) {
  auto p = machine(3);
  p.connect_us = 50;
  sim::world w(p);
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) return;
    for (int i = 0; i < 3; ++i)
      for (const rank_t to : {1u, 2u}) send(w.net(0), signal_op(to, m[0].all, 0, 1));
  }).ok());
  BOOST_TEST(us(w.clock(0)) == 2 * 50 + 6 * 0.5, nearly());
}

BOOST_AUTO_TEST_CASE(multicast_takes_longer_with_its_members) {
  for (const std::uint32_t n : {2u, 4u, 5u, 17u}) {
    auto p = machine(n);
    p.mcast_latency_us = 3, p.mcast_level_us = 0.5, p.mcast_branches = 4, p.mcast_member_us = 0.01;
    sim::world w(p);
    auto m = expose(w, 64);
    std::vector<std::byte> token;
    std::vector<multicast::group_id> groups(n);
    const rank_map all = rank_map::strided(0, n);
    for (rank_t r = 0; r < n; ++r)
      groups[r] = need(r == 0 ? w.net(r).mcast()->create(all, token, time_point::max()) : w.net(r).mcast()->join(all, token, time_point::max()));
    BOOST_TEST(w.run([&](rank_t r) {
      multicast::datagram d;
      if (r == 0) BOOST_TEST(w.net(0).mcast()->send(groups[0], 7, {}));
      else sleep_until(w.net(r), [&] { return w.net(r).mcast()->receive(groups[r], d); });
    }).ok());
    const int levels = n <= 4 ? 1 : n <= 16 ? 2 : 3;
    BOOST_TEST(us(w.clock(n - 1)) == 0.5 + 3 + 0.5 * levels + 0.01 * n + 0.5, nearly());
  }
}

BOOST_AUTO_TEST_CASE(multicast_leaves_as_fast_as_its_rate) {
  auto p = machine(2);
  p.mcast_latency_us = 3, p.mcast_bytes_per_ns = 0.5;
  sim::world w(p);
  auto m = expose(w, 64);
  std::vector<std::byte> token;
  const rank_map all = rank_map::strided(0, 2);
  const auto sends = need(w.net(0).mcast()->create(all, token, time_point::max())), takes = need(w.net(1).mcast()->join(all, token, time_point::max()));
  BOOST_TEST(w.net(0).mcast()->query().bytes_per_ns.value_or(0) == 0.5);
  BOOST_TEST(w.run([&](rank_t r) {
    const std::vector<std::byte> payload(1000);
    multicast::datagram d;
    for (int i = 0; i < 3; ++i)
      if (r == 0) BOOST_TEST(w.net(0).mcast()->send(sends, 7, payload));
      else sleep_until(w.net(1), [&] { return w.net(1).mcast()->receive(takes, d); });
  }).ok());
  BOOST_TEST(us(w.clock(1)) == 0.5 + 3 * 2 + 3 + 0.5, nearly());
}

BOOST_AUTO_TEST_CASE(distributions_have_their_mean) {
  using sim::distribution;
  for (const auto d : {distribution::constant, distribution::uniform, distribution::exponential, distribution::pareto}) {
    sim::random r(7);
    double sum = 0, least = 1e9;
    constexpr int n = 200000;
    for (int i = 0; i < n; ++i) {
      const double x = sim::drawn(r, d, 5, 3);
      sum += x, least = std::min(least, x);
    }
    BOOST_TEST(sum / n == 5, boost::test_tools::tolerance(0.02));
    if (d == distribution::pareto) BOOST_TEST(least == 5.0 * 2 / 3, boost::test_tools::tolerance(0.001));
  }
}

BOOST_AUTO_TEST_CASE(a_detour_delays_work_by_all_of_it_and_a_wait_by_what_is_left) {
  sim::noise_parameters p{.every_us = 100, .lasts_us = 10, .kind = sim::distribution::constant};
  for (std::uint32_t rank = 0; rank < 50; ++rank) {
    sim::disturbance probe(p, 1, rank);
    // The first detour, found by work of 1 ns steps: where it is delayed by 10 us.
    std::int64_t at = 0;
    while (probe.after(p, at, at + 1) == at + 1) ++at;
    sim::disturbance work(p, 1, rank), wait(p, 1, rank), early(p, 1, rank), late(p, 1, rank);
    BOOST_TEST(work.after(p, 0, at + 1) >= at + 1 + 10000);      // all of it, and others that fall into that
    BOOST_TEST(wait.after(p, at + 4000, at + 4000) >= at + 10000);
    BOOST_TEST(wait.after(p, at + 4000, at + 4000) <= at + 10001);
    BOOST_TEST(early.after(p, at - 1, at - 1) == at - 1);
  }
}

BOOST_AUTO_TEST_CASE(noise_and_stragglers_are_the_seeds_and_slow_a_barrier_down) {
  const auto run = [](std::uint64_t seed, double every, double slow) {
    auto p = machine(32);
    p.seed = seed, p.noise.every_us = every, p.noise.lasts_us = 20, p.noise.stragglers = slow, p.noise.factor = 4;
    sim::world w(p);
    auto m = expose(w, 64);
    need(w.run([&](rank_t r) {
          for (std::uint64_t i = 1; i <= 50; ++i) {
            send(w.net(r), signal_op((r + 1) % 32, m[r].all, 0, i));
            sleep_until(w.net(r), [&] { return m[r].word(0) >= i; });
          }
        }).ok(), "the run");
    double most = 0;
    for (rank_t r = 0; r < 32; ++r) most = std::max(most, us(w.clock(r)));
    return std::pair(most, w.stats().trace);
  };
  const auto quiet = run(1, 0, 0), noisy = run(1, 200, 0), again = run(1, 200, 0), other = run(2, 200, 0), slow = run(1, 0, 0.5);
  BOOST_TEST(quiet.first == 50 * 2.5, nearly());
  BOOST_TEST(noisy.first > quiet.first + 20);
  BOOST_TEST(slow.first > quiet.first + 20);
  BOOST_TEST(noisy.second == again.second);
  BOOST_TEST(noisy.second != other.second);
}
