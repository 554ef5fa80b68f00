// What the machine costs beside LogGP: every figure here is worked out by hand from sim.h.
#include <boost/test/unit_test.hpp>

#include "core/transport/offload.h"
#include "core/transport/two_sided.h"
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

// When rank 0 has seen a signal of each of the others, sent at time 0.
double gathered(const sim::parameters& p) {
  sim::world w(p);
  auto m = expose(w, 64 * p.ranks);
  BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
    if (r > 0) return send(w.net(r), signal_op(0, m[r].all, r, 1));
    for (rank_t from = 1; from < p.ranks; ++from) sleep_until(w.net(0), [&] { return m[0].word(from) == 1; });
  }).ok());
  return us(w.clock(0));
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_signal_is_seen_at_its_price) {
  sim::parameters p = machine(4);
  BOOST_TEST(gathered(p) == 0.5 + 2 + 2 * 0.25);  // the adapter takes in one each 0.25
  p.beside.poll_us = 1;
  BOOST_TEST(gathered(p) == 0.5 + 2 + 3 * 1);     // and the processor sees one a microsecond
  p.ranks_per_node = 4;
  BOOST_TEST(gathered(p) == 0.1 + 0.2 + 2 * 0.05);  // no adapter wrote these
}

BOOST_AUTO_TEST_CASE(completions_are_taken_when_the_next_operation_is_posted) {
  sim::parameters p = machine(2);
  p.beside.reap_us = 1;
  sim::world w(p);
  auto m = expose(w, 64);
  std::vector<double> after;
  BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
    if (r) return;
    const auto post = [&] { send(w.net(0), signal_op(1, m[0].all, 0, 1)), after.push_back(us(w.clock(0))); };
    post(), post();      // nothing is complete: it left at 0.5, and the acknowledgement takes 2 L
    w.compute(0, 10);
    post();              // both are
  }).ok());
  BOOST_TEST(after[0] == 0.5);
  BOOST_TEST(after[1] == 1.0);
  BOOST_TEST(after[2] == 1.0 + 10 + 2 * 1 + 0.5);
}

BOOST_AUTO_TEST_CASE(a_two_sided_message_costs_both_processors) {
  sim::parameters p = machine(2);
  p.beside.send_us = 3, p.beside.receive_us = 4, p.copies.bytes_per_ns = 0.5;
  sim::world w(p);
  const std::vector<std::byte> data(100);
  BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
    two_sided& calls = *w.net(r).sendrecv();
    if (r == 0) return (void)calls.send(1, {}, data);
    two_sided::message got;
    sleep_until(w.net(1), [&] { return calls.receive(got); });
  }).ok());
  BOOST_TEST(us(w.clock(0)) == 0.5 + 3 + 0.2);                              // o, send, 100 bytes copied
  BOOST_TEST(us(w.clock(1)) == 3.7 + 2 + 0.1 + 0.5 + 4 + 0.2);              // L, wire, o, receive, copied again
}

BOOST_AUTO_TEST_CASE(an_adapter_does_one_task_at_a_time) {
  sim::parameters p = machine(2);
  p.cost.gap_us = 0;
  p.beside.fetch_us = 1, p.beside.transmit_us = 2, p.beside.take_us = 3, p.beside.deliver_us = 4;
  sim::world w(p);
  auto m = expose(w, 128);
  double first = 0;
  BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
    if (r == 0) {
      send(w.net(0), signal_op(1, m[0].all, 0, 1)), send(w.net(0), signal_op(1, m[0].all, 8, 1));
      return;
    }
    sleep_until(w.net(1), [&] { return m[1].word(0) == 1; });
    first = us(w.clock(1));
    sleep_until(w.net(1), [&] { return m[1].word(8) == 1; });
  }).ok());
  BOOST_TEST(first == 0.5 + 3 + 2 + 7);
  BOOST_TEST(us(w.clock(1)) == 0.5 + 3 + 2 + 7 + 7);  // the other was there 3 us later, in the middle of the first one's 7
}

BOOST_AUTO_TEST_CASE(ranks_that_share_an_adapter_share_its_processor) {
  for (const bool shared : {false, true}) {
    sim::parameters p = machine(4);
    p.cost.gap_us = 0;
    p.ranks_per_node = 2, p.shared_adapters = shared;
    p.beside.transmit_us = 3;
    sim::world w(p);
    auto m = expose(w, 64);
    BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
      if (r < 2) send(w.net(r), signal_op(2 + r, m[r].all, 0, 1));
      else sleep_until(w.net(r), [&] { return m[r].word(0) == 1; });
    }).ok());
    BOOST_TEST(std::max(us(w.clock(2)), us(w.clock(3))) == (shared ? 0.5 + 6 + 2 : 0.5 + 3 + 2));
  }
}

BOOST_AUTO_TEST_CASE(a_bus_carries_what_goes_out_and_what_comes_in) {
  for (const double bus : {0.0, 1.0, 0.5}) {
    sim::parameters p = machine(2);
    p.cost.gap_us = 0;
    p.beside.bus_bytes_per_ns = bus;
    sim::world w(p);
    auto m = expose(w, 8192);
    std::vector<std::byte> out(4000), in(4000);
    BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
      if (r) return;
      completion put, get;
      send(w.net(0), put_op(1, m[0].all, out.data(), 0, 4000, &put));
      send(w.net(0), get_op(1, m[0].all, in.data(), 4096, 4000, &get));
      complete(w.net(0), put), complete(w.net(0), get);
    }).ok());
    // The request follows the put out of the adapter at 4.5, or at 8.5 behind the slow bus. It takes L, and so does the answer, whose bytes
    // cross the buses of both sides while they are on the wire.
    BOOST_TEST(us(w.clock(0)) == (bus == 0.5 ? 0.5 + 8 + 2 + 8 + 2 : 0.5 + 4 + 2 + 4 + 2), boost::test_tools::tolerance(1e-9));
  }
}

// Both ends of a bus's node send at once: what comes in waits for what goes out.
BOOST_AUTO_TEST_CASE(a_bus_is_not_full_duplex) {
  for (const double bus : {0.0, 1.0}) {
    sim::parameters p = machine(2);
    p.cost.gap_us = 0;
    p.beside.bus_bytes_per_ns = bus;
    sim::world w(p);
    auto m = expose(w, 8192);
    std::vector<std::byte> out(4000);
    BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
      rma_op op = put_op(1 - r, m[r].all, out.data(), 4096, 4000, nullptr);
      op.kind = op_kind::put_signal, op.signal = m[r].all, op.signal_offset = 0, op.operand = 1;
      send(w.net(r), op);
      sleep_until(w.net(r), [&] { return m[r].word(0) == 1; });
    }).ok());
    // 4000 bytes go out until 4.5; those of the other side are there from 2.5 to 6.5, and cross from 4.5 on.
    BOOST_TEST(us(w.clock(0)) == (bus > 0 ? 8.5 : 6.5), boost::test_tools::tolerance(1e-9));
  }
}

// Two nodes whose adapters run an exchange by themselves: a start, one signal each way, and the end is told.
BOOST_AUTO_TEST_CASE(the_adapters_run_a_schedule_without_the_processor) {
  for (const bool tasks : {false, true}) {
    sim::parameters p = machine(2);
    if (tasks) p.beside.fetch_us = 100, p.beside.transmit_us = 1, p.beside.take_us = 2, p.beside.deliver_us = 3, p.beside.poll_us = 4;
    sim::world w(p);
    const rank_map both = rank_map::strided(0, 2);
    std::vector<offload::plan_id> plans(2);
    BOOST_TEST_REQUIRE(w.exchange(
        [&](rank_t r) -> result<std::vector<std::byte>> {
          schedule s;
          s.words = 1;
          s.signal(1 - r, 0), s.wait(1 - r, 0);
          std::vector<std::byte> blob;
          auto plan = w.net(r).offloader()->prepare(s, both, 1, blob);
          if (!plan) return plan.error();
          plans[r] = *plan;
          return blob;
        },
        [&](rank_t r, const shared_blobs& all) { return w.net(r).offloader()->connect(plans[r], all); }).ok());
    BOOST_TEST_REQUIRE(w.run([&](rank_t r) {
      offload& adapter = *w.net(r).offloader();
      adapter.queue(plans[r], 16);
      BOOST_TEST(us(w.clock(r)) == 0);  // it keeps the schedule: there is nothing to hand over
      BOOST_TEST(adapter.start(plans[r]));
      sleep_until(w.net(r), [&] { return adapter.finished(plans[r]) == 1; });
    }).ok());
    // o, (transmit), L, (take, deliver; the processor sees it)
    for (rank_t r = 0; r < 2; ++r) BOOST_TEST(us(w.clock(r)) == (tasks ? 0.5 + 1 + 2 + 2 + 3 + 4 : 0.5 + 2));
  }
}
