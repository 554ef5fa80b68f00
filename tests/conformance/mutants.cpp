// The suite can fail: each deliberate violation of the contract, in the simulated fabric, is caught by a case of the
// clause that it breaks. The cases are the very functions that run on every fabric.
#include <array>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <ostream>
#include <string_view>

#include "tests/conformance/clause.h"
#include "tests/harness/sim_fabric.h"

namespace tutti::test {
namespace {

struct mutation {
  const char* name;
  sim::mutant broken;
  std::string_view in_clause, in_case;
};

std::ostream& operator<<(std::ostream& out, const mutation& m) { return out << m.name; }

const mutation mutations[] = {
    {"signal_overtakes_payload", sim::mutant::signal_overtakes_payload, "signals", "payload_before_signal"},
    {"signal_overtakes_earlier", sim::mutant::signal_overtakes_earlier, "signals", "everything_before_a_signal"},
    {"signals_swap", sim::mutant::signals_swap, "signals", "one_origin_one_word_in_order"},
    {"done_before_read", sim::mutant::done_before_read, "completion", "the_source_of_a_put_may_be_reused"},
    {"done_before_landing", sim::mutant::done_before_landing, "completion", "each_operation_its_own_completion"},
    {"flush_at_once", sim::mutant::flush_at_once, "visibility", "the_owner_sees_by_loads"},
    {"refused_leaves_trace", sim::mutant::refused_leaves_trace, "submission", "only_the_prefix_takes_effect"},
    {"atomic_twice", sim::mutant::atomic_twice, "atomics", "fetch_add_gives_each_value_once"},
    {"lost_wakeup", sim::mutant::lost_wakeup, "sleep", "no_wakeup_is_lost"},
    {"packets_swap", sim::mutant::packets_swap, "two_sided", "in_order_and_exactly_once"},
    {"packet_lost", sim::mutant::packet_lost, "two_sided", "in_order_and_exactly_once"},
    {"packet_twice", sim::mutant::packet_twice, "two_sided", "in_order_and_exactly_once"},
    {"packets_unbounded", sim::mutant::packets_unbounded, "two_sided", "a_full_target_refuses_and_loses_nothing"},
    {"packet_refused_sent", sim::mutant::packet_refused_sent, "two_sided", "in_order_and_exactly_once"},
    {"packet_reused", sim::mutant::packet_reused, "two_sided", "a_message_stays_while_it_is_held"},
    {"packets_hold_operations", sim::mutant::packets_hold_operations, "two_sided", "a_full_target_is_reached_otherwise"},
    {"packets_wait_for_the_dead", sim::mutant::packets_wait_for_the_dead, "two_sided", "a_dead_target_is_not_full_for_ever"},
    {"lost_wakeup_of_a_message", sim::mutant::lost_wakeup, "two_sided", "a_message_ends_a_sleep"},
    {"room_wakes_nobody", sim::mutant::room_wakes_nobody, "two_sided", "room_ends_a_sleep"},
};

const conformance_case* find(std::string_view in_clause, std::string_view name) {
  for (const clause& cl : all_clauses())
    if (cl.name == in_clause)
      for (const conformance_case& c : cl.cases)
        if (c.name == name) return &c;
  return nullptr;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mutants)

BOOST_DATA_TEST_CASE(caught, boost::unit_test::data::make(mutations)) {
  const conformance_case* c = find(sample.in_clause, sample.in_case);
  BOOST_REQUIRE(c);
  sim::parameters p = sim_parameters({"sim:wild"}, c->ranks, 1);
  run_options o;
  o.timeout = std::chrono::seconds{10} * time_scale;
  if (c->dies != no_rank) o.to_die = {c->dies};
  p.broken = sim::mutant::none;
  const run_report sound = try_ranks_simulated(p, c->body, o);
  BOOST_TEST(sound.passed(), sound.text());
  p.broken = sample.broken;
  const run_report broken = try_ranks_simulated(p, c->body, o);
  BOOST_TEST(!broken.passed());
  BOOST_TEST_MESSAGE(sample.name << " was caught:\n" << broken.text());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace tutti::test
