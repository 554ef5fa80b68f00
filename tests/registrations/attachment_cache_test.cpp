#include "core/job/attachment_cache.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/core/fake_transport.h"

using namespace tutti;
using namespace tutti::test;

namespace {

segment_id use_once(attachment_cache& cache, rank_t peer, const std::string& key) {
  auto u = cache.acquire(peer, bytes_of(key));
  BOOST_TEST_REQUIRE(u.ok());
  const segment_id s = u->segment();
  cache.release(*u);
  return s;
}

}  // namespace

BOOST_AUTO_TEST_CASE(attached_once_for_each_peer_and_key) {
  fake_transport net{"fake"};
  {
    attachment_cache cache{net};
    const segment_id a = use_once(cache, 3, "key a");
    BOOST_TEST(net.keys == std::vector<std::string>{"key a"}, boost::test_tools::per_element());
    BOOST_TEST((use_once(cache, 3, "key a") == a));
    BOOST_TEST((use_once(cache, 4, "key a") != a));
    BOOST_TEST((use_once(cache, 3, "key b") != a));
    BOOST_TEST((use_once(cache, 3, "key ") != a));
    BOOST_TEST((use_once(cache, 3, "key a") == a));
    BOOST_TEST(cache.hits() == 2u);
    BOOST_TEST(net.segments.size() == 4u);
  }
  BOOST_TEST(net.segments.empty());
}

BOOST_AUTO_TEST_CASE(bounded_and_never_one_in_use) {
  fake_transport net{"fake"};
  attachment_cache cache{net, 2};
  auto held = *cache.acquire(1, bytes_of("held"));
  const segment_id mine = held.segment();
  for (int i = 0; i < 10; ++i) use_once(cache, 2, std::to_string(i));
  BOOST_TEST(cache.entries() == 2u);
  BOOST_TEST(net.segments.size() == 2u);
  BOOST_TEST((use_once(cache, 1, "held") == mine));
  auto also = *cache.acquire(2, bytes_of("also")), third = *cache.acquire(2, bytes_of("third"));
  BOOST_TEST(net.segments.size() == 3u);
  cache.release(third);
  BOOST_TEST(net.segments.size() == 2u);
  cache.release(held), cache.release(also);
}

BOOST_AUTO_TEST_CASE(a_failure_changes_nothing) {
  fake_transport net{"fake"};
  attachment_cache cache{net};
  net.fails = {errc::protocol, "no key", 5};
  BOOST_TEST((cache.acquire(5, bytes_of("x")).error().code() == errc::protocol));
  BOOST_TEST(cache.entries() == 0u);
  net.fails = {};
  use_once(cache, 5, "x");
  BOOST_TEST(cache.entries() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_idle_can_be_dropped) {
  fake_transport net{"fake"};
  attachment_cache cache{net};
  auto held = *cache.acquire(1, bytes_of("held"));
  const segment_id mine = held.segment();
  for (int i = 0; i < 5; ++i) use_once(cache, 2, std::to_string(i));
  cache.drop_idle();
  BOOST_TEST(cache.entries() == 1u);
  BOOST_TEST(net.segments.size() == 1u);
  BOOST_TEST((use_once(cache, 1, "held") == mine));
  cache.release(held);
  cache.drop_idle();
  BOOST_TEST(net.segments.empty());
}
