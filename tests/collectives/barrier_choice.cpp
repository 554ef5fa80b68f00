// The chooser: a table of situations and what must win, and what holds in every situation.
#include <boost/test/unit_test.hpp>

#include "collectives/choose.h"
#include "tests/collectives/schedule_world.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr loggp shared_memory{0.1, 0.02, 0.02, 20};
constexpr loggp modern_network{1.0, 0.15, 0.02, 12};  // fast adapter: messages leave far quicker than they arrive
constexpr loggp kini_cluster{5.4, 0.3, 0.3, 0.8};     // a message 6 us; a multicast 9.8 us (Kini 2003, 2.1.3)

choice_inputs on_one_node(std::uint32_t ranks, double ranks_per_core) {
  choice_inputs in;
  in.ranks = ranks, in.ranks_per_core = ranks_per_core;
  in.node = shared_memory, in.network = modern_network;
  in.native_atomics = in.mapped = true;
  return in;
}

choice_inputs across(std::span<const std::uint32_t> node_of, const loggp& network) {
  choice_inputs in = on_one_node(static_cast<std::uint32_t>(node_of.size()), 1);
  in.node_of = node_of, in.network = network;
  return in;
}

std::vector<std::uint32_t> per_node(std::uint32_t ranks, std::uint32_t each) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < ranks; ++i) out.push_back(i / each);
  return out;
}

std::vector<candidate> must(const choice_inputs& in) {
  auto chosen = choose(collective::barrier, in);
  BOOST_TEST_REQUIRE(chosen.ok(), chosen.error().text());
  return *std::move(chosen);
}

std::string best(const choice_inputs& in) { return std::string(must(in)[0].row->name); }

std::string complaint(choice_inputs in, std::string_view wanted, errc code) {
  const auto parsed = parse_wanted(collective::barrier, wanted);
  if (!parsed) {
    BOOST_TEST((parsed.error().code() == code), wanted);
    return parsed.error().text();
  }
  in.wanted = *parsed;
  const auto chosen = choose(collective::barrier, in);
  BOOST_TEST((chosen.error().code() == code), wanted);
  return chosen.error().text();
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(situations) {
  for (const std::uint32_t n : {1u, 2u}) BOOST_TEST(best(on_one_node(n, n)) == "dissemination");
  // More ranks than cores: whoever waits once wins.
  for (const std::uint32_t n : {3u, 4u, 8u, 16u, 64u}) BOOST_TEST(best(on_one_node(n, n / 2.0)) == "counter");
  // A core each: nobody gathers 16 flags.
  BOOST_TEST((best(on_one_node(16, 1)) == "dissemination" || best(on_one_node(16, 1)) == "nway"));
  // Fast adapters: several messages a round.
  const std::vector<std::uint32_t> apart = per_node(64, 1), packed = per_node(48, 8), large = per_node(4096, 64);
  BOOST_TEST(best(across(apart, modern_network)) == "nway");
  // Several ranks a node: only one of each uses the network; also where closed forms take over.
  BOOST_TEST(best(across(packed, kini_cluster)) == "hierarchical");
  BOOST_TEST(best(across(large, kini_cluster)) == "hierarchical");
}

BOOST_AUTO_TEST_CASE(pairwise_only_ties_at_powers_of_two) {
  for (std::uint32_t n = 2; n <= 64; ++n) {
    const std::vector<std::uint32_t> apart = per_node(n, 1);
    double pairwise = 0, dissemination = 0;
    for (const candidate& c : must(across(apart, kini_cluster))) {
      if (c.row->name == "pairwise") pairwise = c.cost_us;
      if (c.row->name == "dissemination") dissemination = c.cost_us;
    }
    if ((n & (n - 1)) == 0) BOOST_TEST(pairwise == dissemination, n);
    BOOST_TEST(dissemination <= pairwise, n);
  }
}

// Where a rank that loses the release is held until the root's next call, multicast is for who asks for it by name.
BOOST_AUTO_TEST_CASE(a_release_that_may_be_held_is_not_chosen) {
  const std::vector<std::uint32_t> apart = per_node(32, 1);
  choice_inputs in = across(apart, kini_cluster);
  in.multicast = true, in.multicast_us = 0.1;
  for (const bool held : {false, true}) {
    in.held_by_root = held;
    for (const candidate& c : must(in))
      if (c.row->needs.multicast)
        BOOST_TEST((c.runnable != held && (c.why.find("TUTTI_PROGRESS=thread") != c.why.npos) == held), c.why);
  }
  in.wanted.name = "rgm";
  BOOST_TEST(best(in) == "multicast");
}

// Kini 2003, 6: against dissemination, multicast does not pay for 2 or 4 and does from 16 on.
BOOST_AUTO_TEST_CASE(multicast_pays_where_kini_saw_it) {
  for (const std::uint32_t n : {2u, 4u, 16u, 32u, 64u}) {
    const std::vector<std::uint32_t> apart = per_node(n, 1);
    choice_inputs in = across(apart, kini_cluster);
    in.multicast = true, in.multicast_us = 9.2;
    in.wanted.name = "rgm";
    const std::vector<candidate> list = must(in);
    for (const candidate& c : list)
      if (c.row->name == "dissemination") BOOST_TEST((list[0].cost_us < c.cost_us) == (n >= 16), n);
  }
}

// What the engines rely on, in every situation: something runs, the best is first, and ranks agree.
BOOST_AUTO_TEST_CASE(always) {
  for (std::uint32_t n = 1; n <= 40; ++n)
    for (const layout& where : layouts(n, n))
      for (const double ranks_per_core : {0.5, 1.0, 4.0})
        for (const bool multicast : {false, true}) {
          choice_inputs in = on_one_node(n, ranks_per_core);
          in.node_of = where.node_of, in.multicast = multicast;
          const std::vector<candidate> list = must(in);
          BOOST_TEST_REQUIRE(!list.empty());
          BOOST_TEST(list[0].runnable);
          for (std::size_t i = 0; i < list.size(); ++i) {
            const candidate& c = list[i];
            BOOST_TEST(!c.why.empty());
            BOOST_TEST(c.cost_us >= 0);
            // The first may cost as much as a tie more, where the second needs the repair of lost datagrams.
            if (i && c.runnable) BOOST_TEST((list[i - 1].runnable && list[i - 1].cost_us <= (i == 1 && multicast ? 1.05 : 1) * c.cost_us));
            BOOST_TEST((c.runnable || !multicast));
            if (c.runnable && !multicast)
              BOOST_TEST(!c.row->make({0, n, c.radix, in.node_of, c.inner}).uses_multicast);
          }
          // Another rank may have numbered the nodes otherwise: the same team, the same answer.
          std::vector<std::uint32_t> renamed;
          for (const std::uint32_t node : where.node_of) renamed.push_back(node * 2654435761u + 5);
          in.node_of = renamed;
          const std::vector<candidate> again = must(in);
          BOOST_TEST_REQUIRE(again.size() == list.size());
          for (std::size_t i = 0; i < list.size(); ++i) {
            BOOST_TEST(to_string(again[i]) == to_string(list[i]));
            BOOST_TEST(again[i].cost_us == list[i].cost_us);
          }
        }
}

BOOST_AUTO_TEST_CASE(every_candidate_is_a_barrier) {
  for (const std::uint32_t n : {2u, 7u, 16u, 33u}) {
    const std::vector<std::uint32_t> nodes = per_node(n, 3);
    choice_inputs in = across(nodes, kini_cluster);
    in.multicast = true;
    for (const candidate& c : must(in)) {
      const shape shape{0, n, c.radix, nodes, c.inner};
      const std::vector<schedule> all = all_ranks(*c.row, shape);
      BOOST_TEST(inspect(all, c.row->words(shape)) == "", to_string(c));
      BOOST_TEST(run(all, {n}) == "", to_string(c));
    }
  }
}

BOOST_AUTO_TEST_CASE(overrides) {
  const std::vector<std::uint32_t> nodes = per_node(12, 4);
  choice_inputs in = across(nodes, kini_cluster);
  const auto asked = [&](std::string_view text) {
    in.wanted = *parse_wanted(collective::barrier, text);
    const std::vector<candidate> list = must(in);
    for (std::size_t i = 1; i < list.size(); ++i) BOOST_TEST(to_string(list[i]) != to_string(list[0]));
    return to_string(list[0]);
  };
  BOOST_TEST(asked("rds") == "dissemination");
  BOOST_TEST(asked("rpe") == "pairwise");
  BOOST_TEST(asked("nway") == "nway");
  BOOST_TEST(asked("nway:5") == "nway, radix 5");
  BOOST_TEST(asked("tree:1") == "tree, radix 1");
  BOOST_TEST(asked("counter") == "counter");
  BOOST_TEST(asked("hierarchical") == "hierarchical, leaders dissemination");
  BOOST_TEST(asked("hierarchical:nway:3") == "hierarchical, leaders nway, radix 3");
  BOOST_TEST(asked("hierarchical:rpe") == "hierarchical, leaders pairwise");
  in.multicast = true;
  BOOST_TEST(asked("rgm:15") == "multicast, radix 15");
  BOOST_TEST(parse_wanted(collective::barrier, "")->name == "");
  BOOST_TEST(parse_wanted(collective::barrier, "auto")->name == "");
}

BOOST_AUTO_TEST_CASE(overrides_refused) {
  const std::vector<std::uint32_t> nodes = per_node(12, 4);
  const choice_inputs in = across(nodes, kini_cluster);
  BOOST_TEST(has(complaint(in, "disemination", errc::invalid), "known: dissemination (or rds), pairwise (or rpe)"));
  BOOST_TEST(has(complaint(in, "nway:0", errc::invalid), "is no radix"));
  BOOST_TEST(has(complaint(in, "nway:4x", errc::invalid), "is no radix"));
  BOOST_TEST(has(complaint(in, "nway:", errc::invalid), "is no radix"));
  BOOST_TEST(has(complaint(in, "nway:99999999999", errc::invalid), "is no radix"));
  BOOST_TEST(has(complaint(in, "nway:1", errc::invalid), "at least 2"));
  BOOST_TEST(has(complaint(in, "flat:3", errc::invalid), "takes no radix"));
  BOOST_TEST(has(complaint(in, "nway:3:4", errc::invalid), "too many parts"));
  BOOST_TEST(has(complaint(in, "hierarchical:hierarchical", errc::invalid), "no barrier for the leaders"));
  BOOST_TEST(has(complaint(in, "hierarchical:nope", errc::invalid), "no barrier for the leaders"));
  BOOST_TEST(has(complaint(in, "hierarchical:counter:3", errc::invalid), "takes no radix"));
  for (const char* text : {"rgm", "hierarchical:multicast"}) {
    const std::string said = complaint(in, text, errc::unsupported);
    BOOST_TEST(has(said, "no multicast"));
    BOOST_TEST(has(said, "what can: dissemination"));
    BOOST_TEST(!has(said.substr(said.find("what can")), "multicast"));
  }
  choice_inputs wrong = in;
  wrong.wanted.name = "tree", wrong.wanted.inner = "nway";
  BOOST_TEST(has(choose(collective::barrier, wrong).error().text(), "has no leaders"));
  wrong = in;
  wrong.ranks = 13;
  BOOST_TEST(has(choose(collective::barrier, wrong).error().text(), "12 ranks of 13"));
  wrong.ranks = 0, wrong.node_of = {};
  BOOST_TEST((choose(collective::barrier, wrong).error().code() == errc::invalid));
}

BOOST_AUTO_TEST_CASE(explained) {
  const std::vector<std::uint32_t> nodes = per_node(48, 8);
  choice_inputs in = across(nodes, kini_cluster);
  const auto lines = explain(collective::barrier, in, must(in));
  const std::vector<candidate> list = must(in);
  BOOST_TEST_REQUIRE((lines).size() == list.size() + 2);
  BOOST_TEST(has((lines)[0], "barrier among 48 ranks on 6 nodes, at most 8 on one"));
  BOOST_TEST(has((lines)[2], "  1  " + to_string(list[0])));
  for (std::size_t i = 0; i < list.size(); ++i) BOOST_TEST(has((lines)[i + 2], list[i].why));
  BOOST_TEST(has((lines).back(), "cannot run: the transport of this team has no multicast"));
  in.wanted.name = "nope";
  BOOST_TEST((choose(collective::barrier, in).error().code() == errc::invalid));
}
