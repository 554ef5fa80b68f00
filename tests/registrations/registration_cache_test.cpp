// What is kept, what goes, and what a failure leaves: over a transport that writes down what it is asked.
#include "core/job/registration_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <deque>
#include <random>
#include <vector>

#include "tests/core/fake_transport.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kib = 1024;

struct kept_over_fake {
  fake_transport net{"fake"};
  std::vector<std::byte> memory = std::vector<std::byte>(1024 * kib);
  std::optional<registration_cache> cache;

  void open(registration_bounds bounds = {}, registrations_kept how = registrations_kept::automatic) {
    net.limits.follows_mapping = true;
    cache.emplace(net, how, bounds);
  }
  std::span<std::byte> at(std::size_t begin, std::size_t bytes) { return {memory.data() + begin * kib, bytes * kib}; }
  registration_cache::use take(std::size_t begin, std::size_t bytes) {
    auto u = cache->acquire(at(begin, bytes));
    BOOST_TEST_REQUIRE(u.ok(), u.error().text());
    // Whatever is kept: the region is alive, and the memory lies where it is said to lie.
    const auto region = net.regions.find(static_cast<std::uint32_t>(u->region()));
    BOOST_TEST_REQUIRE((region != net.regions.end()));
    BOOST_TEST((region->second.data() + u->offset() == at(begin, bytes).data()));
    BOOST_TEST(u->offset() + bytes * kib <= region->second.size());
    BOOST_TEST(text_of(u->key()) == "fake-key-" + std::to_string(static_cast<std::uint32_t>(u->region())));
    return *u;
  }
  region_id use_once(std::size_t begin, std::size_t bytes) {
    auto u = take(begin, bytes);
    const region_id region = u.region();
    cache->release(u);
    BOOST_TEST(!u);
    return region;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_second_use_finds_the_first, kept_over_fake) {
  open();
  const region_id first = use_once(100, 64);
  BOOST_TEST((use_once(100, 64) == first));
  BOOST_TEST((use_once(120, 8) == first));   // part of it
  BOOST_TEST((use_once(100, 1) == first));
  BOOST_TEST((use_once(163, 1) == first));
  BOOST_TEST((use_once(164, 1) != first));   // begins where it ends
  BOOST_TEST((use_once(99, 1) != first));    // ends where it begins
  BOOST_TEST(cache->counted().hits == 4u);
  BOOST_TEST(cache->counted().misses == 3u);
  BOOST_TEST(cache->entries() == 3u);
  BOOST_TEST(cache->bytes() == 66 * kib);
  BOOST_TEST(net.regions.size() == 3u);
  cache.reset();
  BOOST_TEST(net.regions.empty());
}

BOOST_FIXTURE_TEST_CASE(what_reaches_out_takes_the_place_of_all_it_meets, kept_over_fake) {
  open();
  use_once(0, 10), use_once(20, 10), use_once(40, 10), use_once(60, 10);
  const region_id all = use_once(25, 20);    // of the second and third, and of the gap
  BOOST_TEST(cache->entries() == 3u);
  BOOST_TEST(cache->bytes() == 50 * kib);
  BOOST_TEST((use_once(20, 30) == all));
  BOOST_TEST((use_once(19, 2) != all));
  BOOST_TEST(net.regions.size() == 3u);
}

// Its key is with a peer: it stays registered until the last user is done, and is found no more.
BOOST_FIXTURE_TEST_CASE(what_is_in_use_outlives_its_place, kept_over_fake) {
  open();
  auto first = take(0, 10), again = take(2, 4);
  BOOST_TEST((first.region() == again.region()));
  const region_id old = first.region(), wider = use_once(5, 10);
  BOOST_TEST((wider != old));
  BOOST_TEST(net.regions.count(static_cast<std::uint32_t>(old)) == 1u);
  BOOST_TEST((use_once(0, 10) == wider));
  cache->release(first);
  BOOST_TEST(net.regions.count(static_cast<std::uint32_t>(old)) == 1u);
  BOOST_TEST(text_of(again.key()) == "fake-key-" + std::to_string(static_cast<std::uint32_t>(old)));
  cache->release(again);
  BOOST_TEST(net.regions.count(static_cast<std::uint32_t>(old)) == 0u);
  BOOST_TEST(net.regions.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_one_used_longest_ago_goes_first, kept_over_fake) {
  open({.bytes = 30 * kib, .entries = 100});
  const region_id a = use_once(0, 10), b = use_once(100, 10), c = use_once(200, 10);
  BOOST_TEST((use_once(0, 5) == a));                 // so b is the oldest
  use_once(300, 10);
  BOOST_TEST(cache->bytes() == 30 * kib);
  BOOST_TEST((use_once(200, 10) == c));
  BOOST_TEST((use_once(0, 10) == a));
  BOOST_TEST((use_once(100, 10) != b));
  BOOST_TEST(cache->counted().evicted == 2u);
  BOOST_TEST(net.regions.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(entries_are_bounded, kept_over_fake) {
  open({.bytes = 1 << 30, .entries = 2});
  const region_id a = use_once(0, 1);
  use_once(10, 1), use_once(20, 1);
  BOOST_TEST(cache->entries() == 2u);
  BOOST_TEST((use_once(0, 1) != a));
}

// Never one in use; what has no room beside those is registered all the same, and given back when it is released.
BOOST_FIXTURE_TEST_CASE(what_is_in_use_is_never_evicted, kept_over_fake) {
  open({.bytes = 20 * kib, .entries = 2});
  auto a = take(0, 10), b = take(100, 10);
  const region_id held_a = a.region(), held_b = b.region();
  auto c = take(200, 10), d = take(300, 21);
  BOOST_TEST(cache->entries() == 2u);
  BOOST_TEST(cache->bytes() == 20 * kib);
  BOOST_TEST(net.regions.size() == 4u);
  cache->release(c), cache->release(d);
  BOOST_TEST(net.regions.size() == 2u);
  BOOST_TEST((use_once(0, 10) == held_a));
  BOOST_TEST((use_once(100, 10) == held_b));
  cache->release(b);
  use_once(400, 10);                                 // only b may go
  BOOST_TEST((use_once(0, 10) == held_a));
  cache->release(a);
}

BOOST_FIXTURE_TEST_CASE(more_than_may_be_kept_is_not_joined, kept_over_fake) {
  open({.bytes = 30 * kib, .entries = 9});
  use_once(0, 20);
  use_once(15, 20);
  BOOST_TEST(cache->bytes() == 20 * kib);            // the request alone
  use_once(0, 31);
  BOOST_TEST(cache->bytes() + 31 * kib > 30 * kib);
  BOOST_TEST(net.regions.size() == cache->entries());
}

BOOST_FIXTURE_TEST_CASE(a_failure_changes_nothing, kept_over_fake) {
  open();
  const region_id kept = use_once(0, 10);
  for (const char* call : {"add", "key"}) {
    net.fails = {errc::fabric, "as told"}, net.fails_at = call;
    const auto u = cache->acquire(at(100, 10));
    BOOST_TEST((u.error().code() == errc::fabric));
    BOOST_TEST(net.regions.size() == 1u);
    BOOST_TEST(cache->entries() == 1u);
    BOOST_TEST((use_once(0, 10) == kept));           // needs no call
  }
  BOOST_TEST((cache->acquire({}).error().code() == errc::invalid));
  net.fails = {};
  use_once(100, 10);
  BOOST_TEST(cache->entries() == 2u);
}

namespace {

// Which has so much that may be locked.
class scarce final : public fake_transport {
 public:
  using fake_transport::fake_transport;
  std::size_t most = 0;
  result<region_id> add(std::span<std::byte> m) override {
    std::size_t sum = m.size();
    for (const auto& r : regions) sum += r.second.size();
    if (sum > most) return status{errc::no_resource, "no more may be locked"};
    return fake_transport::add(m);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(idle_ones_make_room_for_what_cannot_be_locked) {
  scarce net{"fake"};
  net.limits.follows_mapping = true;
  net.most = 30;
  std::vector<std::byte> m(100);
  registration_cache cache{net, registrations_kept::automatic, {}};
  auto held = *cache.acquire({m.data(), 10});
  for (std::size_t i : {20u, 40u}) {
    auto u = *cache.acquire({m.data() + i, 10});
    cache.release(u);
  }
  auto u = *cache.acquire({m.data() + 60, 15});      // both must go
  BOOST_TEST(net.regions.size() == 2u);
  BOOST_TEST((cache.acquire({m.data() + 80, 10}).error().code() == errc::no_resource));
  cache.release(u);
  u = *cache.acquire({m.data() + 80, 10});
  cache.release(u), cache.release(held);
}

BOOST_FIXTURE_TEST_CASE(off_keeps_nothing, kept_over_fake) {
  open({}, registrations_kept::off);
  const region_id first = use_once(0, 10);
  BOOST_TEST(net.regions.empty());
  BOOST_TEST((use_once(0, 10) != first));
  BOOST_TEST(!cache->keeps());
  BOOST_TEST(cache->why() == "not kept: TUTTI_REGISTRATION_CACHE=off");
}

// Where memory is pinned, and the program has not loaded what would tell of unmapping.
BOOST_FIXTURE_TEST_CASE(nothing_is_kept_where_nobody_would_tell, kept_over_fake) {
  net.limits.follows_mapping = false;
  cache.emplace(net, registrations_kept::interpose, registration_bounds{});
  use_once(0, 10);
  BOOST_TEST(net.regions.empty());
  BOOST_TEST(cache->why() == "not kept: nobody would tell what is unmapped: the program has not loaded libtutti-unmap.so");
}

BOOST_FIXTURE_TEST_CASE(a_forked_child_is_refused, kept_over_fake) {
  open();
  auto held = take(0, 10);
  const pid_t child = fork();
  if (child == 0) {
    const auto u = cache->acquire(at(0, 10));
    const std::size_t calls = net.calls.size();
    const bool refused = u.error().code() == errc::invalid;
    cache.reset();  // drops nothing: the regions are the parent's
    _exit(refused && net.calls.size() == calls ? 0 : 1);
  }
  int outcome = -1;
  BOOST_TEST_REQUIRE(waitpid(child, &outcome, 0) == child);
  BOOST_TEST(outcome == 0);
  const region_id region = held.region();
  BOOST_TEST((use_once(2, 3) == region));
  cache->release(held);
}

// Against a model: at any time regions are those kept and those in use, disjoint as far as kept, within bounds.
BOOST_FIXTURE_TEST_CASE(any_order_of_uses, kept_over_fake) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random{seed};
    open({.bytes = 100 * kib, .entries = 6});
    std::deque<registration_cache::use> held;
    for (int step = 0; step < 400; ++step) {
      BOOST_TEST_CONTEXT("seed " << seed << " step " << step) {
        if (random() % 3 || held.empty()) held.push_back(take(random() % 200, 1 + random() % 30));
        if (held.size() > 4) cache->release(held.front()), held.pop_front();
        BOOST_TEST_REQUIRE(cache->bytes() <= 100 * kib);
        BOOST_TEST_REQUIRE(cache->entries() <= 6u);
        BOOST_TEST_REQUIRE(net.regions.size() <= cache->entries() + held.size());
      }
    }
    while (!held.empty()) cache->release(held.front()), held.pop_front();
    BOOST_TEST(net.regions.size() == cache->entries());
    std::size_t sum = 0;
    for (const auto& r : net.regions) sum += r.second.size();
    BOOST_TEST(sum == cache->bytes());
    cache.reset();
    BOOST_TEST_REQUIRE(net.regions.empty());
  }
}
