// Routes and contention, worked out by hand.
#include <boost/test/unit_test.hpp>

#include <set>

#include "providers/sim/topology.h"
#include "tests/sim/ranks.h"

using namespace tutti;
using namespace tutti::test;
using sim::topology;
using sim::topology_parameters;
using sim::wiring;

namespace {

topology made(const topology_parameters& p, std::uint32_t nodes) { return need(topology::make(p, nodes)); }

std::vector<std::string> route(const topology& t, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> out;
  for (std::uint32_t i = 0; i < t.hops(from, to); ++i) out.push_back(t.name(t.link(from, to, i)));
  return out;
}
using names = std::vector<std::string>;

// LogGP with 2 us, o 0.5, g 0.25, 1 byte/ns, and links of 0.1 us each.
sim::parameters machine(std::uint32_t ranks, wiring kind) {
  sim::parameters p;
  p.ranks = ranks;
  p.cost = {2.0, 0.5, 0.25, 1.0};
  p.topology.kind = kind;
  p.topology.hop_us = 0.1;
  return p;
}

// When each target has what its origin sent, us.
std::vector<double> put_at_once(const sim::parameters& p, const std::vector<std::pair<rank_t, rank_t>>& pairs, std::uint32_t bytes) {
  sim::world w(p);
  auto m = expose(w, 64 + 2 * bytes);
  std::vector<std::byte> from(bytes);
  std::vector<double> out;
  need(w.run([&](rank_t r) {
        for (const auto& [a, b] : pairs)
          if (r == a) {
            rma_op op = put_op(b, m[r].all, from.data(), 64, bytes, nullptr);
            op.kind = op_kind::put_signal, op.signal = m[r].all, op.signal_offset = 0, op.operand = 1, op.how = signal_how::add;
            send(w.net(r), op);
          }
        std::uint64_t due = 0;
        for (const auto& [a, b] : pairs) due += r == b;
        if (due) sleep_until(w.net(r), [&] { return m[r].word(0) == due; });
      }).ok(),
      "the run");
  for (const auto& [a, b] : pairs) out.push_back(us(w.clock(b)));
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_route_is_of_links_that_are_there_and_ends) {
  const topology_parameters all[] = {{.kind = wiring::fat_tree, .down = 2, .up = 2}, {.kind = wiring::fat_tree, .down = 4, .up = 1},
                                     {.kind = wiring::fat_tree, .down = 3, .up = 5}, {.kind = wiring::torus}, {.kind = wiring::torus, .x = 5, .y = 4, .z = 3},
                                     {.kind = wiring::dragonfly, .nodes = 2, .routers = 3, .globals = 4}, {.kind = wiring::dragonfly, .nodes = 1, .routers = 8, .globals = 1}};
  for (const auto& p : all)
    for (const std::uint32_t n : {1u, 2u, 3u, 7u, 27u, 60u}) {
      const topology t = made(p, n);
      for (std::uint32_t a = 0; a < n; ++a)
        for (std::uint32_t b = 0; b < n; ++b) {
          std::set<std::uint32_t> taken;
          for (std::uint32_t i = 0; i < t.hops(a, b); ++i) {
            const std::uint32_t link = t.link(a, b, i);
            BOOST_REQUIRE(link < t.links());
            BOOST_REQUIRE(taken.insert(link).second);
            BOOST_REQUIRE(!t.name(link).empty());
          }
          BOOST_TEST(taken.empty() == (a == b));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_fat_tree_climbs_as_far_as_it_must) {
  const topology t = made({.kind = wiring::fat_tree, .down = 2, .up = 2}, 8);
  BOOST_TEST((route(t, 0, 1) == names{"up from node 0", "down to node 1"}));
  BOOST_TEST((route(t, 0, 3) == names{"up from node 0", "up from the switches of level 1 above nodes 0 to 1, cable 1",
                                      "down to the switches of level 1 above nodes 2 to 3, cable 1", "down to node 3"}));
  BOOST_TEST(t.hops(0, 7) == 6u);
  // A shift by a constant: no two messages share a link.
  for (std::uint32_t by = 1; by < 8; ++by) {
    std::set<std::uint32_t> used;
    for (std::uint32_t a = 0; a < 8; ++a)
      for (std::uint32_t i = 0; i < t.hops(a, (a + by) % 8); ++i) BOOST_TEST(used.insert(t.link(a, (a + by) % 8, i)).second);
  }
}

BOOST_AUTO_TEST_CASE(a_torus_goes_the_shorter_way_dimension_by_dimension) {
  const topology t = made({.kind = wiring::torus, .x = 4, .y = 3, .z = 1}, 12);
  // 1 is (1, 0, 0); 11 is (3, 2, 0): half way round along x goes up, and y goes back over the edge.
  BOOST_TEST((route(t, 1, 11) == names{"from (1, 0, 0) to +x", "from (2, 0, 0) to +x", "from (3, 0, 0) to -y"}));
  BOOST_TEST((route(t, 0, 3) == names{"from (0, 0, 0) to -x"}));
}

BOOST_AUTO_TEST_CASE(a_dragonfly_takes_one_cable_between_groups) {
  // Groups of 2 routers with a node each and a cable each: 3 groups. Cable i of group 0 leads to group i + 1.
  const topology t = made({.kind = wiring::dragonfly, .nodes = 1, .routers = 2, .globals = 1}, 6);
  BOOST_TEST((route(t, 0, 1) == names{"up from node 0", "in group 0 from router 0 to 1", "down to node 1"}));
  BOOST_TEST((route(t, 0, 2) == names{"up from node 0", "from group 0 to group 1, cable 0", "down to node 2"}));
  BOOST_TEST((route(t, 0, 5) == names{"up from node 0", "in group 0 from router 0 to 1", "from group 0 to group 2, cable 0",
                                      "in group 2 from router 0 to 1", "down to node 5"}));
}

BOOST_AUTO_TEST_CASE(the_engines_are_told_of_the_links) {
  BOOST_TEST(made({.kind = wiring::fat_tree, .down = 2, .up = 2}, 4).mean_hops() == (2 + 4 + 4) / 3.0);
  const sim::parameters p = machine(4, wiring::fat_tree);  // one switch
  sim::world w(p);
  BOOST_TEST(w.net(0).caps().cost.latency_us == 2.0 + 2 * 0.1, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(what_has_no_room_is_refused_with_what_would) {
  const auto torus = topology::make({.kind = wiring::torus, .x = 2, .y = 2, .z = 2}, 9);
  BOOST_TEST(!torus.ok());
  const auto dragonfly = topology::make({.kind = wiring::dragonfly, .nodes = 1, .routers = 2, .globals = 1}, 7);
  BOOST_REQUIRE(!dragonfly.ok());
  BOOST_TEST(std::string(dragonfly.error().text()).find("at most 6 nodes") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(one_message_alone_pays_for_its_links_and_nothing_else) {
  // Cut-through: the bytes are paid for once. o, two links, L, and 4000 bytes at 1 a ns.
  BOOST_TEST(put_at_once(machine(2, wiring::fat_tree), {{0, 1}}, 4000)[0] == 0.5 + 0.2 + 2.0 + 4.0, boost::test_tools::tolerance(1e-9));
  // A link of half the rate: the last byte leaves it after 8 us.
  auto slow = machine(2, wiring::fat_tree);
  slow.topology.link_bytes_per_ns = 0.5;
  BOOST_TEST(put_at_once(slow, {{0, 1}}, 4000)[0] == 0.5 + 0.2 + 2.0 + 8.0, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(two_messages_share_the_one_link_that_both_take) {
  // A line of 3 nodes, x = 3 would close a ring: 5 nodes in a ring, 0 -> 2 and 1 -> 2 share the link from 1 to +x.
  auto p = machine(5, wiring::torus);
  p.topology.x = 5, p.topology.y = p.topology.z = 1;
  // To different targets: 0 -> 2 over (0, 1), (1, 2); 1 -> 3 over (1, 2), (2, 3). Rank 1's enters the shared link at 0.5, rank
  // 0's comes at 0.6 and waits until 4.5; it is behind it at 4.6, and is there after L and its bytes.
  const auto both = put_at_once(p, {{0, 2}, {1, 3}}, 4000);
  BOOST_TEST(both[1] == 0.5 + 0.2 + 2.0 + 4.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(both[0] == 4.5 + 0.1 + 2.0 + 4.0, boost::test_tools::tolerance(1e-9));
  // Opposite directions of a cable are two links.
  const auto across = put_at_once(p, {{1, 2}, {2, 1}}, 4000);
  BOOST_TEST(across[0] == 0.5 + 0.1 + 2.0 + 4.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(across[1] == across[0]);
}

BOOST_AUTO_TEST_CASE(the_busiest_link_is_known) {
  auto p = machine(5, wiring::torus);
  p.topology.x = 5, p.topology.y = p.topology.z = 1;
  sim::world w(p);
  BOOST_TEST(!w.busiest());
  auto m = expose(w, 8192);
  std::vector<std::byte> from(1000);
  BOOST_TEST(w.run([&](rank_t r) {
    completion done;
    if (r > 1) return;
    send(w.net(r), put_op(2, m[r].all, from.data(), 64, 1000, &done));
    complete(w.net(r), done);
    BOOST_TEST(w.net(r).flush(2, &done));
    complete(w.net(r), done);
  }).ok());
  const auto busiest = w.busiest();
  BOOST_REQUIRE(busiest.has_value());
  BOOST_TEST(busiest->name == "from (1, 0, 0) to +x");
  BOOST_TEST(busiest->messages == 2u);
  BOOST_TEST(busiest->bytes == 2000u);
  BOOST_TEST(busiest->busy_us == 2.0, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(busiest->waited_us == 0.9, boost::test_tools::tolerance(1e-9));  // rank 0's comes 0.1 after rank 1's, which takes 1.0
}

BOOST_AUTO_TEST_CASE(a_round_trip_pays_for_the_links_both_ways) {
  sim::world w(machine(2, wiring::fat_tree));
  auto m = expose(w, 4096);
  std::vector<std::byte> to(1000);
  double got = 0;
  BOOST_TEST(w.run([&](rank_t r) {
    if (r) return;
    completion c;
    send(w.net(0), get_op(1, m[0].all, to.data(), 0, 1000, &c));
    complete(w.net(0), c);
    got = us(w.net(0).now());
  }).ok());
  BOOST_TEST(got == 0.5 + 0.2 + 2.0 + 0.2 + 1.0 + 2.0, boost::test_tools::tolerance(1e-9));
}
