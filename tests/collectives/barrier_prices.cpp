// Steps and levels as the papers count them, read off the evaluated schedules; and the closed forms against them.
#include <boost/test/unit_test.hpp>

#include "collectives/fan_in_tree.h"
#include "collectives/price.h"
#include "tests/collectives/schedule_world.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// One microsecond a hop and nothing else: the cost is the length of the longest chain of messages.
std::int64_t hops(std::string_view name, std::uint32_t size, std::uint32_t radix = 0,
                  std::span<const std::uint32_t> node_of = {}, std::string_view leaders = {}) {
  costs costs;
  costs.network.latency_us = costs.node.latency_us = 1, costs.multicast_us = 1;
  const picoseconds cost = evaluate(*find_algorithm(collective::barrier, name), {0, size, radix, node_of, leaders}, costs);
  BOOST_TEST_REQUIRE(cost % 1000000 == 0);
  return cost / 1000000;
}

// By multiplication, as the papers define them, not by the bit tricks of the code.
std::int64_t ceil_log(std::uint64_t base, std::uint64_t n) {
  std::int64_t out = 0;
  for (std::uint64_t reach = 1; reach < n; reach *= base) ++out;
  return out;
}
std::int64_t floor_log2(std::uint64_t n) {
  std::int64_t out = 0;
  while (n >>= 1) ++out;
  return out;
}

// Steps of the busiest rank; an exchange, a signal and then a wait, is one.
std::int64_t steps(std::string_view name, std::uint32_t size) {
  std::int64_t most = 0;
  for (const schedule& s : all_ranks(*find_algorithm(collective::barrier, name), {0, size, 0, {}, {}})) {
    std::int64_t mine = 0;
    for (std::size_t i = 0; i < s.steps.size(); ++i, ++mine)
      if (s.steps[i].kind == step_kind::signal && i + 1 < s.steps.size() && s.steps[i + 1].kind == step_kind::wait) ++i;
    most = std::max(most, mine);
  }
  return most;
}

costs costs_like(double latency, double overhead, double gap) {
  costs c;
  c.network = {latency, overhead, gap, 1};
  c.node = {latency / 10, overhead / 4, gap / 10, 10};
  c.multicast_us = latency * 2;
  c.mapped = true;
  return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_as_in_the_papers) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    BOOST_TEST_CONTEXT(n << " ranks") {
      const bool power_of_two = (n & (n - 1)) == 0;
      BOOST_TEST(hops("dissemination", n) == ceil_log(2, n));                               // Kini 3.2
      BOOST_TEST(steps("dissemination", n) == ceil_log(2, n));
      BOOST_TEST(steps("pairwise", n) == floor_log2(n) + (power_of_two ? 0 : 2));           // Kini 3.1
      BOOST_TEST(hops("pairwise", n) <= steps("pairwise", n));
      for (std::uint32_t k = 2; k <= 8; ++k) BOOST_TEST(hops("nway", n, k) == ceil_log(k, n));
      for (const std::uint32_t l : {1u, 3u, 7u, 15u}) {
        const std::int64_t levels = ceil_log(l + 1, n);                                     // Kini 3.3
        BOOST_TEST(fan_in_tree(n, l).levels() == levels);
        BOOST_TEST(hops("tree", n, l) <= 2 * levels);
        BOOST_TEST(hops("multicast", n, l) <= levels + 1);
        if (floor_log2(n) % floor_log2(l + 1) || !power_of_two) continue;                   // a full tree
        BOOST_TEST(hops("tree", n, l) == 2 * levels);
        BOOST_TEST(hops("multicast", n, l) == levels + 1);
      }
      BOOST_TEST(hops("flat", n) == 2);                                                     // Gupta 5.2
      BOOST_TEST(hops("counter", n) == 3);  // there, back, and the release
    }
  }
}

BOOST_AUTO_TEST_CASE(nodes_first_as_gupta_counts) {
  std::vector<std::uint32_t> node_of;
  for (std::uint32_t n = 2; n <= 64; ++n) {
    node_of.clear();
    for (std::uint32_t i = 0; i < n; ++i) node_of.push_back(i % ((n + 3) / 4));
    const std::int64_t nodes = (n + 3) / 4;
    const std::int64_t local = n > nodes ? 1 : 0;
    BOOST_TEST(hops("hierarchical", n, 0, node_of) == 2 * local + ceil_log(2, static_cast<std::uint64_t>(nodes)));
    if (nodes > 1) BOOST_TEST(hops("hierarchical", n, 7, node_of, "multicast") <= local + ceil_log(8, nodes) + 1);
  }
}

// A chain's calls overlap but for what one of its edges takes, room that is given and data; barriers' calls do not.
BOOST_AUTO_TEST_CASE(calls_that_follow_each_other_overlap) {
  costs c;
  c.network.latency_us = c.node.latency_us = 1;
  const algorithm &chain = *find_algorithm(collective::broadcast, "chain"), &dissemination = *find_algorithm(collective::barrier, "dissemination");
  const auto us = [](picoseconds t) { return static_cast<double>(t) / 1e6; };
  const partition short_one{8, 64 << 10};
  BOOST_TEST(us(evaluate(chain, {.size = 8}, c, short_one)) == 8, boost::test_tools::tolerance(0.01));
  BOOST_TEST(us(evaluate(chain, {.size = 8}, c, short_one, 3)) == 12, boost::test_tools::tolerance(0.01));
  BOOST_TEST(us(price(chain, {.size = 8}, c, short_one)) == 2 + (8. - 2) / 32, boost::test_tools::tolerance(0.01));
  BOOST_TEST(us(evaluate(dissemination, {.size = 8}, c, {}, 3)) == 9);
}

BOOST_AUTO_TEST_CASE(every_part_of_loggp_is_charged) {
  costs c;
  c.node = {1.0, 0.25, 0.5, 1};
  const auto us = [&](std::string_view name, std::uint32_t n, std::uint32_t radix = 0) {
    return static_cast<double>(evaluate(*find_algorithm(collective::barrier, name), {0, n, radix, {}, {}}, c)) / 1e6;
  };
  BOOST_TEST(us("dissemination", 1) == 0);
  BOOST_TEST(us("dissemination", 2) == 1.5);       // o + L + o
  BOOST_TEST(us("dissemination", 8) == 4.5);
  BOOST_TEST(us("nway", 4, 4) == 2.5);             // o + 2g + L + o
  BOOST_TEST(us("flat", 4) == 5.0);                // three taken in a gap apart, then three sent a gap apart
}

// 0 sends and passes its core on; 1 finds that, sends, and passes it back. Who takes a message works for o and L.
BOOST_AUTO_TEST_CASE(ranks_that_share_a_core_have_it_in_turn) {
  costs c;
  c.node = {1.0, 0.25, 0.5, 1};
  c.turn_per_rank_us = 10;
  const auto us = [&](std::string_view name, std::uint32_t n, double ranks_per_core, std::span<const std::uint32_t> node_of = {}) {
    c.ranks_per_core = ranks_per_core;
    return static_cast<double>(evaluate(*find_algorithm(collective::barrier, name), {0, n, 0, node_of, {}}, c)) / 1e6;
  };
  const double exchange = 0.25 + 10 + 0.25 + 1.25 + 10 + 1.25;
  BOOST_TEST(us("dissemination", 2, 2) == exchange);
  BOOST_TEST(us("dissemination", 2, 1) == 1.5);
  const std::uint32_t apart[] = {0, 1};
  c.network = c.node;
  BOOST_TEST(us("dissemination", 2, 2, apart) == 0.25 + 20 + 0.25);  // the other one of each core is of another team
  // Three ranks send when they first have it; whoever gathers finds all of that, and they what it sends, a round later each.
  BOOST_TEST(us("flat", 4, 4) > 4 * 10);
  BOOST_TEST(us("flat", 4, 4) < 9 * 10 + 10);
  BOOST_TEST(us("flat", 8, 4) < us("dissemination", 8, 4));
  // What nobody waits for costs no turn.
  c.turn_per_rank_us = 0;
  BOOST_TEST(us("dissemination", 2, 2) == exchange - 20);
}

BOOST_AUTO_TEST_CASE(placement_matters) {
  const costs c = costs_like(2, 0.2, 0.1);
  const std::uint32_t blocks[] = {0, 0, 0, 0, 1, 1, 1, 1}, dealt[] = {0, 1, 0, 1, 0, 1, 0, 1};
  const auto cost = [&](std::string_view name, std::span<const std::uint32_t> node_of) {
    return evaluate(*find_algorithm(collective::barrier, name), {0, 8, 0, node_of, {}}, c);
  };
  BOOST_TEST(cost("pairwise", blocks) == cost("pairwise", dealt));            // one round of three crosses, either way
  BOOST_TEST(cost("dissemination", dealt) < cost("dissemination", blocks));   // distance 1 alone crosses, or all do
  BOOST_TEST(cost("hierarchical", blocks) == cost("hierarchical", dealt));
}

BOOST_AUTO_TEST_CASE(closed_forms_follow_the_evaluation) {
  for (const costs& c : {costs_like(1.5, 0.2, 0.1), costs_like(5, 0.5, 1), costs_like(0.3, 0.3, 0.2)})
    for (const std::uint32_t n : {32u, 45u, 64u, 65u, 100u, 128u, 129u, 200u, 256u, 300u, 511u}) {
      std::vector<std::uint32_t> apart, blocks;
      for (std::uint32_t i = 0; i < n; ++i) apart.push_back(i), blocks.push_back(i / 8);
      const auto compare = [&](const algorithm& row, const shape& s) {
        const auto seen = static_cast<double>(evaluate(row, s, c));
        const auto form = static_cast<double>(estimate(row, s, c));
        BOOST_TEST((form > 0.6 * seen && form < 1.6 * seen),
                   row.name << " of " << n << ", radix " << s.radix << ", leaders " << s.inner << ": evaluated "
                            << seen / 1e6 << " us, closed form " << form / 1e6);
      };
      for (const algorithm& row : algorithms(collective::barrier)) {
        if (row.needs.nodes) {
          for (const algorithm& upper : algorithms(collective::barrier))
            if (!upper.needs.nodes) compare(row, {0, n, 0, blocks, upper.name});
          continue;
        }
        compare(row, {0, n, 0, {}, {}});
        compare(row, {0, n, 0, apart, {}});
        if (row.default_radix) compare(row, {0, n, 8, apart, {}});
      }
    }
}

// They spread the work over all cores alike, where one rank's may be all that the others wait for.
BOOST_AUTO_TEST_CASE(closed_forms_count_the_messages_that_shared_cores_carry) {
  costs c = costs_like(1.5, 0.2, 0.1);
  c.node = c.network, c.ranks_per_core = 16, c.turn_per_rank_us = 0;
  for (const bool atomics : {true, false})
    for (const std::uint32_t n : {32u, 45u, 64u, 100u, 255u, 300u})
      for (const algorithm& row : algorithms(collective::barrier)) {
        if (row.needs.nodes) continue;
        c.native_atomics = atomics;
        const auto seen = static_cast<double>(evaluate(row, {0, n, 0, {}, {}}, c));
        const auto form = static_cast<double>(estimate(row, {0, n, 0, {}, {}}, c));
        BOOST_TEST((form > 0.4 * seen && form < 1.25 * seen), row.name << " of " << n << ": evaluated " << seen / 1e6
                                                                       << " us, closed form " << form / 1e6);
      }
}

BOOST_AUTO_TEST_CASE(large_teams_have_a_price) {
  const costs c = costs_like(1.5, 0.2, 0.1);
  for (const algorithm& row : algorithms(collective::barrier))
    for (const std::uint32_t n : {evaluated_up_to + 1, 1000u, 10000u, 1000000u})
      BOOST_TEST(price(row, {0, n, 0, {}, {}}, c) > 0, row.name);
}

BOOST_AUTO_TEST_CASE(schedules_that_cannot_finish_have_none) {
  algorithm broken = *find_algorithm(collective::barrier, "dissemination");
  broken.make = [](const shape& s) {
    schedule out = find_algorithm(collective::barrier, "dissemination")->make(s);
    if (s.rank == 1) out.steps.erase(out.steps.begin());
    return out;
  };
  BOOST_TEST(evaluate(broken, {0, 4, 0, {}, {}}, {}) == -1);
}

BOOST_AUTO_TEST_CASE(nodes_are_counted) {
  const std::uint32_t node_of[] = {9, 3, 9, 9, 3, 1};
  BOOST_TEST(summarize_nodes(6, node_of).nodes == 3u);
  BOOST_TEST(summarize_nodes(6, node_of).largest == 3u);
  BOOST_TEST(summarize_nodes(6, {}).nodes == 1u);
  BOOST_TEST(summarize_nodes(6, {}).largest == 6u);
}
