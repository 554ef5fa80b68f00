// The machine without freedom is LogGP to the nanosecond: every figure here is worked out by hand from the header.
#include <boost/test/unit_test.hpp>

#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;

namespace {
sim::parameters machine(std::uint32_t ranks) {
  sim::parameters p;
  p.ranks = ranks;
  p.cost = {2.0, 0.5, 0.25, 1.0};       // L 2 us, o 0.5 us, g 0.25 us, 1 byte/ns
  p.node_cost = {0.2, 0.1, 0.05, 10.0};
  return p;
}
}  // namespace

BOOST_AUTO_TEST_CASE(one_signal_takes_o_plus_l) {
  sim::world w(machine(2));
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) send(w.net(0), signal_op(1, m[0].all, 0, 7));
    else sleep_until(w.net(1), [&] { return m[1].word(0) == 7; });
  }).ok());
  BOOST_TEST(us(w.clock(0)) == 0.5);
  BOOST_TEST(us(w.clock(1)) == 2.5);
}

BOOST_AUTO_TEST_CASE(a_ping_pong_is_the_sum_of_its_ways) {
  sim::world w(machine(2));
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    for (std::uint64_t i = 1; i <= 10; ++i) {
      if (r == i % 2) send(w.net(r), signal_op(1 - r, m[r].all, 0, i));
      else sleep_until(w.net(r), [&] { return m[r].word(0) == i; });
    }
  }).ok());
  BOOST_TEST(us(w.clock(1)) == 10 * 2.5);  // the tenth reaches rank 1
}

BOOST_AUTO_TEST_CASE(a_put_signal_pays_for_its_bytes) {
  sim::world w(machine(2));
  auto m = expose(w, 8192);
  std::vector<std::byte> from(4000);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) {
      rma_op op = put_op(1, m[0].all, from.data(), 64, 4000, nullptr);
      op.kind = op_kind::put_signal, op.signal = m[0].all, op.signal_offset = 0, op.operand = 1;
      send(w.net(0), op);
    } else {
      sleep_until(w.net(1), [&] { return m[1].word(0) == 1; });
    }
  }).ok());
  BOOST_TEST(us(w.clock(1)) == 0.5 + 4.0 + 2.0);
}

BOOST_AUTO_TEST_CASE(local_completion_and_flush) {
  sim::world w(machine(2));
  auto m = expose(w, 4096);
  std::vector<std::byte> from(1000);
  double local = 0, flushed = 0;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) return;
    completion put, flush;
    send(w.net(0), put_op(1, m[0].all, from.data(), 0, 1000, &put));
    complete(w.net(0), put);
    local = us(w.net(0).now());
    BOOST_TEST(w.net(0).flush(1, &flush));
    complete(w.net(0), flush);
    flushed = us(w.net(0).now());
  }).ok());
  BOOST_TEST(local == 0.5 + 1.0);                // out of the adapter
  BOOST_TEST(flushed == 0.5 + 1.0 + 2.0 + 2.0);  // there, and the way back
}

BOOST_AUTO_TEST_CASE(a_get_and_an_atomic_are_round_trips) {
  sim::world w(machine(2));
  auto m = expose(w, 4096);
  std::vector<std::byte> to(1000);
  std::uint64_t old = 0;
  double got = 0, added = 0;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) return;
    completion c;
    send(w.net(0), get_op(1, m[0].all, to.data(), 0, 1000, &c));
    complete(w.net(0), c);
    got = us(w.net(0).now());
    send(w.net(0), fetch_add_op(1, m[0].all, 0, 5, &old, &c));
    complete(w.net(0), c);
    added = us(w.net(0).now()) - got;
  }).ok());
  BOOST_TEST(got == 0.5 + 2.0 + 1.0 + 2.0);
  BOOST_TEST(added == 0.5 + 2.0 + 2.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(m[1].word(0) == 5u);
}

BOOST_AUTO_TEST_CASE(a_sender_is_bounded_by_overhead_or_gap) {
  for (const double gap : {0.25, 0.75}) {
    auto p = machine(2);
    p.cost.gap_us = gap;
    sim::world w(p);
    auto m = expose(w, 64);
    BOOST_TEST(w.run([&](rank_t r) {
      if (r == 0)
        for (std::uint64_t i = 1; i <= 9; ++i) send(w.net(0), signal_op(1, m[0].all, 0, i));
      else sleep_until(w.net(1), [&] { return m[1].word(0) == 9; });
    }).ok());
    BOOST_TEST(us(w.clock(1)) == 0.5 + 8 * std::max(0.5, gap) + 2.0);
  }
}

BOOST_AUTO_TEST_CASE(a_receiver_takes_one_message_a_gap) {
  constexpr std::uint32_t n = 9;
  sim::world w(machine(n));
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) send(w.net(r), signal_op(0, m[r].all, 0, 1, signal_how::add));
    else sleep_until(w.net(0), [&] { return m[0].word(0) == n - 1; });
  }).ok());
  BOOST_TEST(us(w.clock(0)) == 2.5 + (n - 2) * 0.25);
}

BOOST_AUTO_TEST_CASE(two_large_messages_share_the_receivers_wire) {
  sim::world w(machine(3));
  auto m = expose(w, 4096);
  std::vector<std::byte> from(2000);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) {
      rma_op op = put_op(0, m[r].all, from.data(), 64, 2000, nullptr);
      op.kind = op_kind::put_signal, op.how = signal_how::add;
      op.signal = m[r].all, op.signal_offset = 0, op.operand = 1;
      send(w.net(r), op);
    } else {
      sleep_until(w.net(0), [&] { return m[0].word(0) == 2; });
    }
  }).ok());
  BOOST_TEST(us(w.clock(0)) == 0.5 + 2.0 + 2.0 + 0.25 + 2.0);
}

BOOST_AUTO_TEST_CASE(inside_a_node_the_nodes_cost_holds) {
  auto p = machine(4);
  p.ranks_per_node = 2;
  sim::world w(p);
  auto m = expose(w, 64);
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) {
      send(w.net(0), signal_op(1, m[0].all, 0, 1));
      send(w.net(0), signal_op(2, m[0].all, 0, 1));
    } else if (r < 3) {
      sleep_until(w.net(r), [&] { return m[r].word(0) == 1; });
    }
  }).ok());
  BOOST_TEST(us(w.clock(1)) == 0.1 + 0.2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(us(w.clock(2)) == 0.1 + 0.5 + 2.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST((w.boot(0).host() == w.boot(1).host()));
  BOOST_TEST((w.boot(1).host() != w.boot(2).host()));
}

BOOST_AUTO_TEST_CASE(polling_sees_an_arrival_at_its_time_and_a_deadline_soon_after_it) {
  sim::world w(machine(2));
  auto m = expose(w, 64);
  double gave_up = 0;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r == 0) {
      w.compute(0, 1000);
      send(w.net(0), signal_op(1, m[0].all, 0, 1));
    } else {
      while (m[1].word(0) != 1) w.net(1).progress();
      const time_point end = w.net(1).now() + std::chrono::milliseconds(1);
      while (w.net(1).now() < end) w.net(1).progress();
      gave_up = us(w.net(1).now()) - 1002.5;
    }
  }).ok());
  BOOST_TEST(gave_up >= 1000.0);
  BOOST_TEST(gave_up <= 1070.0);
}
