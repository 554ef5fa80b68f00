#include <boost/test/unit_test.hpp>

#include "tests/core/router_fixture.h"

using namespace tutti;
using namespace tutti::test;

BOOST_AUTO_TEST_CASE(ids_are_the_nodes_and_are_translated_for_the_network) {
  router_fixture f;
  const auto [region, segment] = f.memory();
  BOOST_TEST(static_cast<std::uint32_t>(region) == near_base);
  BOOST_TEST(static_cast<std::uint32_t>(segment) == near_base);
  const auto [region2, segment2] = f.memory();
  const rma_op near[] = {numbered_put(0, region, segment, 0), numbered_put(2, region2, segment2, 1)};
  BOOST_TEST(f.both->submit(near) == 2u);
  BOOST_TEST(f.near->last_span == near);  // as they stand, not copied
  rma_op far[] = {numbered_put(1, region, segment2, 0), numbered_put(3, unregistered_memory, segment, 1)};
  far[0].signal = segment;
  far[0].kind = op_kind::put_signal;
  BOOST_TEST(f.both->submit(far) == 2u);
  BOOST_TEST((f.far->taken[0].local == region_id{far_base}));
  BOOST_TEST((f.far->taken[0].remote == segment_id{far_base + 1}));
  BOOST_TEST((f.far->taken[0].signal == segment_id{far_base}));
  BOOST_TEST((f.far->taken[1].local == unregistered_memory));
  BOOST_TEST((far[0].local == region));  // the caller's array is untouched
}

BOOST_AUTO_TEST_CASE(each_child_gets_the_keys_of_its_own_ranks) {
  router_fixture f;
  f.memory();
  const std::vector<std::string> near{"near-key-3", "", "near-key-3", ""}, far{"", "far-key-70", "", "far-key-70"};
  BOOST_TEST(f.near->keys == near, boost::test_tools::per_element());
  BOOST_TEST(f.far->keys == far, boost::test_tools::per_element());
  auto keys = std::make_shared<blob_table>();
  keys->push_back({});
  keys->push_back({});
  BOOST_TEST(f.both->attach(rank_map::listed({0, 1}), keys).ok());  // members that expose nothing
  auto bad = std::make_shared<blob_table>();
  bad->push_back({});
  bad->push_back(test::bytes_of("?"));
  const auto refused = f.both->attach(rank_map::listed({0, 3}), bad);
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST((refused.error().code() == errc::protocol));
  BOOST_TEST(refused.error().peer() == 3u);
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_second_child_undoes_the_first) {
  router_fixture f;
  std::vector<std::byte> memory(64);
  std::span<std::byte> given;
  f.far->fails = {errc::no_resource, "full"};
  BOOST_TEST((f.both->add(memory).error().code() == errc::no_resource));
  BOOST_TEST((f.both->allocate(64, given).error().code() == errc::no_resource));
  BOOST_TEST(given.empty());
  BOOST_TEST(f.near->regions.empty());
  auto keys = std::make_shared<blob_table>();
  keys->push_back({});
  BOOST_TEST((f.both->attach(rank_map::strided(0, 1), keys).error().code() == errc::no_resource));
  BOOST_TEST(f.near->segments.empty());
  f.far->fails = {};
  f.near->fails = {errc::no_resource, "full"};
  f.far->calls.clear();
  BOOST_TEST(!f.both->add(memory).ok());
  BOOST_TEST(!f.both->allocate(64, given).ok());
  BOOST_TEST(!f.both->attach(rank_map::strided(0, 1), keys).ok());
  BOOST_TEST(f.far->calls.empty());
}

BOOST_AUTO_TEST_CASE(dropping_drops_both_and_the_ids_may_come_again) {
  router_fixture f;
  for (int round = 0; round < 100; ++round) {
    f.near->next_region = f.near->next_segment = near_base;  // a provider that reuses its ids at once
    const auto [region, segment] = f.memory();
    const rma_op op = numbered_put(1, region, segment, 0);
    BOOST_TEST(f.both->submit({&op, 1}) == 1u);
    BOOST_TEST((f.far->taken.back().remote == segment_id{far_base + static_cast<std::uint32_t>(round)}));
    f.both->drop(segment);
    f.both->drop(region);
    BOOST_TEST(f.near->regions.empty());
    BOOST_TEST(f.far->regions.empty());
    BOOST_TEST(f.near->segments.empty());
    BOOST_TEST(f.far->segments.empty());
  }
}
