#include <boost/test/unit_test.hpp>

#include "tests/core/router_fixture.h"

using namespace tutti;
using namespace tutti::test;

BOOST_AUTO_TEST_CASE(addresses_are_paired_and_split) {
  router_fixture f;
  BOOST_TEST(f.near->addresses == std::vector<std::string>(4, "near-address"), boost::test_tools::per_element());
  BOOST_TEST(f.far->addresses == std::vector<std::string>(4, "far-address"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_outsiders_address_is_a_protocol_error_that_names_the_rank) {
  router_fixture f;
  auto addresses = std::make_shared<blob_table>();
  addresses->push_back(*f.both->address());
  addresses->push_back(test::bytes_of("no"));
  const status s = f.both->connect(addresses, time_point::max());
  BOOST_TEST((s.code() == errc::protocol));
  BOOST_TEST(s.peer() == 1u);
}

BOOST_AUTO_TEST_CASE(capabilities_hold_for_both) {
  auto n = std::make_unique<fake_transport>("near");
  auto f = std::make_unique<fake_transport>("far");
  n->limits.max_bytes = 1000, f->limits.max_bytes = 500;
  n->limits.max_inline = 32, f->limits.max_inline = 200;
  f->limits.target_must_progress = true;
  f->limits.max_slices = 3;
  f->limits.native_signal = false;
  f->limits.cost.latency_us = 7;
  const auto made = make_router(std::move(n), std::move(f), {});
  BOOST_REQUIRE(made.ok());
  const capabilities& c = (*made)->caps();
  BOOST_TEST(c.max_bytes == 500u);
  BOOST_TEST(c.max_inline == 32u);
  BOOST_TEST(c.max_slices == 3u);
  BOOST_TEST(c.target_must_progress);
  BOOST_TEST(!c.native_signal);
  BOOST_TEST(c.native_atomics);
  BOOST_TEST(!c.can_sleep);  // no descriptors
  BOOST_TEST(c.cost.latency_us == 7);
}

// The network meets memory that the router allocated as memory that was added.
BOOST_AUTO_TEST_CASE(native_means_native_upon_memory_that_is_added_to_the_network) {
  for (const bool node : {false, true})
    for (const bool network : {false, true}) {
      auto n = std::make_unique<fake_transport>("near");
      auto f = std::make_unique<fake_transport>("far");
      n->limits.native_when_added = node, f->limits.native_when_added = network;
      const auto made = make_router(std::move(n), std::move(f), {});
      BOOST_REQUIRE(made.ok());
      const capabilities& c = (*made)->caps();
      BOOST_TEST(c.native_signal == network);
      BOOST_TEST(c.native_atomics == network);
      BOOST_TEST(c.native_when_added == (node && network));
    }
}

BOOST_AUTO_TEST_CASE(towards_one_rank_it_is_as_the_child_that_reaches_it) {
  for (const bool node : {false, true}) {
    test::router_fixture f;
    f.near->limits.native_when_added = node, f.far->limits.native_when_added = !node;
    for (rank_t r = 0; r < 4; ++r) BOOST_TEST(f.both->native_towards(r) == (r % 2 == 0 ? node : !node));
  }
}

BOOST_AUTO_TEST_CASE(atomics_that_do_not_agree_need_a_network_that_reaches_all) {
  for (const bool near_agrees : {false, true})
    for (const bool reaches : {false, true})
      for (const bool one_node : {false, true}) {
        auto n = std::make_unique<fake_transport>("near");
        auto f = std::make_unique<fake_transport>("far");
        n->limits.cpu_atomics_agree = near_agrees, f->limits.cpu_atomics_agree = !near_agrees;
        n->reached_ranks = {0, 2}, f->reached_ranks = {1, 3};
        if (reaches) f->reached_ranks = {0, 1, 2, 3};
        if (one_node) n->reached_ranks = {0, 1, 2, 3};
        const auto made = make_router(std::move(n), std::move(f), {});
        BOOST_REQUIRE(made.ok());
        BOOST_TEST(!(*made)->caps().cpu_atomics_agree);
        auto addresses = std::make_shared<blob_table>();
        const auto mine = (*made)->address();
        for (int r = 0; r < 4; ++r) addresses->push_back(*mine);
        const status s = (*made)->connect(addresses, time_point::max());
        BOOST_TEST(s.ok() == (reaches || one_node));
        if (s.ok()) continue;
        BOOST_TEST((s.code() == errc::unsupported));
        BOOST_TEST(std::string{s.text()}.find(near_agrees ? "of the network" : "of the node") != std::string::npos);
      }
  BOOST_TEST((make_router(nullptr, nullptr, {}).error().code() == errc::invalid));
}

BOOST_AUTO_TEST_CASE(health_map_and_reach_are_the_childs) {
  router_fixture f;
  BOOST_TEST(std::string{f.both->health(0).text()} == "near says so");
  BOOST_TEST(std::string{f.both->health(1).text()} == "far says so");
  std::byte here{}, there{};
  f.near->mapped = &here, f.far->mapped = &there;
  BOOST_TEST(f.both->map(segment_id{near_base}, 2) == &here);
  BOOST_TEST(f.both->map(segment_id{near_base}, 3) == &there);
  f.near->reached_ranks = {}, f.far->reached_ranks = {1};
  BOOST_TEST(f.both->reaches(1));
  BOOST_TEST(!f.both->reaches(0));
}

BOOST_AUTO_TEST_CASE(multicast_is_the_nodes_only_if_all_are_on_it) {
  const auto marker = [](int& place) { return reinterpret_cast<multicast*>(&place); };
  int a = 0, b = 0;
  router_fixture split;
  split.near->mc = marker(a), split.far->mc = marker(b);
  BOOST_TEST(split.both->mcast() == marker(b));
  router_fixture one{-1, -1, {0, 1, 2, 3}};
  one.near->mc = marker(a), one.far->mc = marker(b);
  BOOST_TEST(one.both->mcast() == marker(a));
}

BOOST_AUTO_TEST_CASE(messages_go_by_the_child_and_come_from_both_by_turns) {
  router_fixture f;
  two_sided* const calls = f.both->sendrecv();
  BOOST_REQUIRE(calls);
  for (rank_t r = 0; r < 4; ++r) BOOST_TEST(calls->send(r, bytes_of("h"), bytes_of("p")));
  BOOST_TEST(f.near_messages.sent == (std::vector<std::string>{"0:h/p", "2:h/p"}), boost::test_tools::per_element());
  BOOST_TEST(f.far_messages.sent == (std::vector<std::string>{"1:h/p", "3:h/p"}), boost::test_tools::per_element());
  f.near_messages.full = true;
  BOOST_TEST(!calls->send(0, {}, {}));
  BOOST_TEST(calls->send(1, {}, {}));
  for (const char* one : {"a", "b", "c"}) f.near_messages.coming.push_back(one);
  f.far_messages.coming.push_back("x");
  std::string came;
  for (two_sided::message m; calls->receive(m);) came += text_of(m.payload);
  BOOST_TEST((came == "axbc" || came == "xabc"));
}

BOOST_AUTO_TEST_CASE(messages_are_there_where_all_ranks_have_them) {
  BOOST_TEST(router_fixture(-1, -1, {0, 2}, true, false).both->sendrecv() == nullptr);
  router_fixture f(-1, -1, {0, 1, 2, 3}, true, false);  // the network serves nobody
  BOOST_REQUIRE(f.both->sendrecv());
  BOOST_TEST(f.both->sendrecv()->send(3, {}, {}));
  BOOST_TEST(f.near_messages.sent.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_network_goes_first_when_all_ends) {
  std::string order;
  {
    router_fixture f;
    f.near->on_destroy = [&] { order += 'n'; };
    f.far->on_destroy = [&] { order += 'f'; };
  }
  BOOST_TEST(order == "fn");
}
