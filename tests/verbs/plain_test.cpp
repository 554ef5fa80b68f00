// Operations upon local memory that no region is named for: it is found in a region, copied, or registered for as long as
// one operation takes (providers/verbs/bounce_buffers.h). Over adapters that exist in this process alone, which check every key.
#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint32_t small = 3000, large = 30'000;
static_assert(small < verbs::bounce_bytes && large > verbs::bounce_bytes);

std::uint64_t registered() { return fake::held_by("fake0").registered; }
std::vector<std::byte> painted(std::size_t bytes, int value) { return std::vector<std::byte>(bytes, static_cast<std::byte>(value)); }
bool all(std::span<const std::byte> bytes, int value) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == static_cast<std::byte>(value); });
}
bool all(const party& p, rank_t r, std::size_t at, std::size_t bytes, int value) { return all({p.memory(r) + at, bytes}, value); }

struct pair_of_ranks {
  const no_breach none{};
  party p;
  std::uint64_t before;
  explicit pair_of_ranks(std::uint64_t lockable = ~std::uint64_t{0}) : p((fake::install(plans(lockable)), names(2))) {
    p.meet();
    before = registered();
  }
  static std::vector<fake::adapter_plan> plans(std::uint64_t lockable) {
    auto two = roce(2);
    two[0].lockable = lockable;
    return two;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(memory_of_a_region_needs_nothing_more, pair_of_ranks) {
  std::memset(p.memory(0), 7, party::bytes);
  for (const std::uint32_t bytes : {small, large}) {
    BOOST_TEST(p.run(0, put(plain(p.memory(0) + 100), p.at(0, 1, 8), bytes)).ok());
    BOOST_TEST(p.run(0, get(plain(p.memory(0) + 31'000), p.at(0, 1, 8), bytes)).ok());
  }
  BOOST_TEST(p.run(0, fetch_add(plain(p.memory(0) + 8), p.at(0, 1), 1, nullptr)).ok());
  BOOST_TEST(p.run(0, swap(plain(p.memory(0) + party::bytes - 8), p.at(0, 1), 5, nullptr)).ok());
  BOOST_TEST(registered() == before);
  // A range that begins in the region and leaves it is no part of it: nothing less than all of it may go by its key.
  std::vector<std::byte> own(2 * large);
  const region_id half = *p[0].add({own.data(), large});
  BOOST_TEST(p.run(0, get(plain(own.data() + large - 1000), p.at(0, 1), large)).ok());
  BOOST_TEST(p.run(0, get(plain(own.data() + large), p.at(0, 1), large)).ok());
  p[0].drop(half);
  BOOST_TEST(registered() == before);
}

// The adapter may have pages there that are no longer the address's: it must ask for those that are.
BOOST_FIXTURE_TEST_CASE(memory_of_an_unowned_region_is_registered_all_the_same, pair_of_ranks) {
  auto own = painted(large, 7);
  const region_id unowned = *p[0].add_unowned(own);
  const std::uint64_t with_region = registered();
  fake::hold("fake0", "fake1");
  completion done;
  BOOST_TEST(p.submit(0, put(plain(own.data()), p.at(0, 1), large, &done)));
  BOOST_TEST(registered() == with_region + large);
  BOOST_TEST(p.submit(0, put({unowned, 0}, p.at(0, 1), large, &done)));
  BOOST_TEST(registered() == with_region + large);
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return done.idle(); }));
  BOOST_TEST(done.outcome().ok());
  p[0].drop(unowned);
  BOOST_TEST(registered() == before);
}

// Of regions that overlap the one that reaches furthest decides, wherever it begins, and whichever of them are dropped.
BOOST_FIXTURE_TEST_CASE(regions_that_overlap, pair_of_ranks) {
  std::vector<std::byte> own(200'000);
  struct part { std::size_t at, bytes; };
  constexpr part parts[] = {{1000, 190'000}, {2000, 9000}, {2000, 20'000}, {50'000, 9000}, {120'000, 80'000}, {1000, 10}};
  for (std::size_t spared = 0; spared <= std::size(parts); ++spared) {
    std::vector<region_id> ids;
    for (const part& r : parts) ids.push_back(*p[0].add({own.data() + r.at, r.bytes}));
    if (spared < std::size(parts)) p[0].drop(ids[spared]);
    const auto inside = [&](std::size_t at, std::size_t bytes) {
      for (std::size_t i = 0; i < std::size(parts); ++i)
        if (i != spared && at >= parts[i].at && at + bytes <= parts[i].at + parts[i].bytes) return true;
      return false;
    };
    const std::uint64_t with_regions = registered();
    for (std::size_t at = 0; at + large <= own.size(); at += 1000) {
      completion done;
      fake::hold("fake0", "fake1");
      BOOST_TEST(p.submit(0, get(plain(own.data() + at), p.at(0, 1), large, &done)));
      BOOST_TEST((registered() == with_regions) == inside(at, large), "at " << at << " without part " << spared);
      fake::release("fake0", "fake1");
      BOOST_TEST(p.until([&] { return done.idle(); }));
      BOOST_TEST(done.outcome().ok());
    }
    for (const region_id id : ids) p[0].drop(id);
    BOOST_TEST(registered() == before);
  }
}

// A buffer has what a small put sends: its source may change at once, whenever the adapter reads it.
BOOST_FIXTURE_TEST_CASE(a_small_put_is_done_at_once, pair_of_ranks) {
  fake::hold("fake0", "fake1");
  auto source = painted(small, 1);
  completion done;
  BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1), small, &done)));
  BOOST_TEST(done.idle());
  BOOST_TEST(p.submit(0, put_signal(plain(source.data()), p.at(0, 1, small), small, p.at(0, 1).segment, 60'000, 9, &done)));
  BOOST_TEST(done.idle());
  source.assign(small, std::byte{2});
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return done.idle(); }));
  BOOST_TEST(p.flush(0, 1).ok());
  BOOST_TEST(all(p, 1, 0, 2 * small, 1));
  BOOST_TEST(p.word(1, 60'000) == 9u);
}

// As many as there are buffers, then it is full; and that ends though nobody asked to be told of any.
BOOST_FIXTURE_TEST_CASE(buffers_are_bounded_and_return, pair_of_ranks) {
  auto source = painted(small, 3);
  for (int round = 0; round < 3; ++round) {
    fake::hold("fake0", "fake1");
    for (std::uint32_t i = 0; i < verbs::bounce_count; ++i)
      BOOST_TEST_REQUIRE(p.submit(0, put(plain(source.data()), p.at(0, 1, 8 * i), small)));
    std::uint64_t old = 77;
    const rma_op more[] = {put(plain(source.data()), p.at(0, 1), small), get(plain(source.data()), p.at(0, 1), small),
                           fetch_add(plain(&old), p.at(0, 1), 1, nullptr), swap(plain(&old), p.at(0, 1), 1, nullptr)};
    for (const rma_op& op : more) BOOST_TEST(!p.submit(0, op));
    BOOST_TEST(p.submit(0, put(p.mine(0), p.at(0, 1), small)));  // a region needs none
    fake::release("fake0", "fake1");
    BOOST_TEST(p.until([&] { return p.submit(0, more[0]); }));
    BOOST_TEST(p.flush(0, 1).ok());
    BOOST_TEST(registered() == before + verbs::bounce_count * verbs::bounce_bytes);
  }
  p[0].progress();
}

BOOST_FIXTURE_TEST_CASE(what_is_large_is_registered_while_it_lasts, pair_of_ranks) {
  fake::hold("fake0", "fake1");
  auto source = painted(large, 4), into = painted(large, 5);
  completion sent, got;
  BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1), large, &sent)));
  BOOST_TEST(registered() == before + large);
  BOOST_TEST(p.submit(0, get(plain(into.data()), p.at(0, 1), large, &got)));
  BOOST_TEST(registered() == before + 2 * large);
  BOOST_TEST((!sent.idle() && !got.idle()));
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return sent.idle() && got.idle(); }));
  BOOST_TEST(registered() == before);  // before anybody was told
  BOOST_TEST((sent.outcome().ok() && got.outcome().ok() && all(into, 4)));
  // No completion: the next flush is behind it, and so is its end.
  BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1), large)));
  BOOST_TEST(p.flush(0, 1).ok());
  BOOST_TEST(registered() == before);
}

BOOST_FIXTURE_TEST_CASE(a_list_of_pieces_of_every_kind, pair_of_ranks) {
  std::memset(p.memory(0), 0, party::bytes);
  for (std::size_t i = 0; i < party::bytes; ++i) p.memory(1)[i] = static_cast<std::byte>(i % 251);
  std::vector<std::byte> a(small + 2), b(large + 2), added(5000);
  const region_id region = *p[0].add(added);
  const auto at = [](std::byte* m) { return reinterpret_cast<std::uint64_t>(m); };
  const slice list[] = {{unregistered_memory, small, at(a.data() + 1)}, {p.region(0), 100, 24}, {unregistered_memory, 0, 0},
                        {unregistered_memory, large, at(b.data() + 1)}, {unregistered_memory, 4000, at(added.data() + 7)},
                        {region, 50, 4500}};
  BOOST_TEST(p.run(0, get_scatter(list, p.at(0, 1), nullptr)).ok());
  std::byte* const places[] = {a.data() + 1, p.memory(0) + 24, nullptr, b.data() + 1, added.data() + 7, added.data() + 4500};
  std::size_t from = 0;
  for (std::size_t i = 0; i < std::size(list); ++i) {
    if (places[i]) BOOST_TEST(std::memcmp(places[i], p.memory(1) + from, list[i].bytes) == 0, "piece " << i);
    from += list[i].bytes;
  }
  BOOST_TEST((a.front() == std::byte{} && a.back() == std::byte{} && b.front() == std::byte{} && b.back() == std::byte{}));
  const std::uint64_t with_buffers = registered();
  p[0].drop(region);  // nothing of it is in use any more: at once
  BOOST_TEST(registered() == with_buffers - added.size());
  // Lists of as many pieces as there may be, until there are no buffers: all of one, or none.
  fake::hold("fake0", "fake1");
  const std::uint32_t most = p[0].caps().max_slices;
  std::vector<std::byte> words(most * 8);
  std::vector<slice> many;
  for (std::uint32_t i = 0; i < most; ++i) many.push_back({unregistered_memory, 8, at(words.data() + i * 8)});
  completion done;
  std::uint32_t taken = 0;
  while (taken < 10 && p.submit(0, get_scatter(many, p.at(0, 1), &done))) ++taken;
  BOOST_TEST(taken == verbs::bounce_count / most);
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return done.idle(); }));
  BOOST_TEST(std::memcmp(words.data(), p.memory(1), words.size()) == 0);
}

BOOST_FIXTURE_TEST_CASE(results_of_atomics, pair_of_ranks) {
  std::uint64_t around[3] = {1, 2, 3};
  BOOST_TEST(p.run(0, swap(plain(&around[1]), p.at(0, 1), 40, nullptr)).ok());
  BOOST_TEST(around[1] == 0u);
  BOOST_TEST(p.run(0, swap(plain(&around[1]), p.at(0, 1), 41, nullptr)).ok());
  BOOST_TEST(around[1] == 40u);
  BOOST_TEST(p.run(0, fetch_add(plain(&around[1]), p.at(0, 1), 2, nullptr)).ok());
  BOOST_TEST(around[1] == 41u);
  BOOST_TEST(p.run(0, compare_swap(plain(&around[1]), p.at(0, 1), 43, 50, nullptr)).ok());
  BOOST_TEST((around[1] == 43u && p.word(1, 0) == 50u));
  BOOST_TEST((around[0] == 1u && around[2] == 3u));
  for (std::uint32_t i = 0; i < 5 * verbs::bounce_count; ++i) BOOST_TEST_REQUIRE(p.run(0, swap(plain(&around[1]), p.at(0, 1), i, nullptr)).ok());
}

// What failed has changed nothing here, and every buffer has come back.
BOOST_FIXTURE_TEST_CASE(errors_give_back_buffers, pair_of_ranks) {
  std::uint64_t old = 99;
  auto into = painted(small, 6), big = painted(large, 6);
  const rma_op ops[] = {get(plain(into.data()), p.at(0, 1), small), get(plain(big.data()), p.at(0, 1), large),
                        fetch_add(plain(&old), p.at(0, 1), 1, nullptr), swap(plain(&old), p.at(0, 1), 1, nullptr),
                        put(plain(big.data()), p.at(0, 1), large)};
  BOOST_TEST(p.run(0, put(plain(into.data()), p.at(0, 1), small)).ok());  // there are buffers
  const std::uint64_t usual = registered();
  for (int round = 0; round < 2 * static_cast<int>(verbs::bounce_count); ++round) {
    const rma_op& op = ops[static_cast<std::size_t>(round) % std::size(ops)];
    fake::fail_next("fake0", "fake1", IBV_WC_REM_OP_ERR, 0);
    BOOST_TEST((p.run(0, op).code() == errc::fabric));
    BOOST_TEST(registered() == usual);
  }
  BOOST_TEST((old == 99u && all(into, 6) && all(big, 6)));
  BOOST_TEST(says(p.run(0, get({region_id{12345}, 0}, p.at(0, 1), small)), "is no region, or no longer"));
  BOOST_TEST(p.run(0, ops[0]).ok());
}

// With little that may be locked, operations wait for each other; one that is too large for all there is says so.
BOOST_AUTO_TEST_CASE(as_much_as_may_be_locked) {
  constexpr std::uint64_t always = (1 << 20) + 36 * 1024;  // of the transport's own
  constexpr std::uint64_t much = always + party::bytes + 2 * large + 100;
  pair_of_ranks two(much);
  party& p = two.p;
  auto source = painted(3 * large, 8);
  fake::hold("fake0", "fake1");
  completion done;
  BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1), large, &done)));
  BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1, large), large, &done)));
  BOOST_TEST(!p.submit(0, put(plain(source.data()), p.at(0, 1), large, &done)));
  BOOST_TEST(!p.submit(0, put(plain(source.data()), p.at(0, 1), small, &done)));  // there are no buffers yet
  const slice list[] = {{unregistered_memory, large, plain(source.data()).offset}, {unregistered_memory, large, plain(source.data() + large).offset}};
  BOOST_TEST(!p.submit(0, get_scatter(list, p.at(0, 1), &done)));
  fake::release("fake0", "fake1");
  BOOST_TEST(p.until([&] { return p.submit(0, put(plain(source.data()), p.at(0, 1), large, &done)); }));
  BOOST_TEST(p.until([&] { return done.idle(); }));
  BOOST_TEST(done.outcome().ok());
  BOOST_TEST(p.run(0, get_scatter(list, p.at(0, 1), nullptr)).ok());
  // A list that keeps itself from being registered is refused, not asked to wait for itself.
  const slice greedy[] = {list[0], list[1], {unregistered_memory, large - 1000, plain(source.data() + 2 * large).offset}};
  for (const rma_op& op : {put(plain(source.data()), p.at(0, 1), 3 * large), get(plain(source.data()), p.at(0, 1), 3 * large),
                           get(plain(source.data()), p.at(0, 1), small)}) {
    const status s = p.run(0, op);
    BOOST_TEST((s.code() == errc::no_resource), s.text());
    BOOST_TEST_CONTEXT(s.text()) BOOST_TEST((says(s, "registering ") && says(s, "bytes") && says(s, "fake0") && s.peer() == 1u));
  }
  BOOST_TEST(p.run(0, get_scatter(std::span{greedy}.first(2), p.at(0, 1), nullptr)).ok());
  BOOST_TEST((p.run(0, get_scatter(greedy, p.at(0, 1), nullptr)).code() == errc::no_resource));
  BOOST_TEST(registered() == two.before);
}

// Those that wait for a connection take buffers when they are sent; and a transport that closes has them back from everybody.
BOOST_AUTO_TEST_CASE(before_there_is_a_connection_and_at_the_end) {
  const no_breach none;
  fake::install(roce(2));
  {
    party p(names(2));
    auto source = painted(large, 9), into = painted(large, 1);
    completion done;
    BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1), large, &done)));
    BOOST_TEST(p.submit(0, put(plain(source.data()), p.at(0, 1, large), small, &done)));
    BOOST_TEST(p.submit(0, get(plain(into.data()), p.at(0, 1), large, &done)));
    BOOST_TEST(p.until([&] { return done.idle(); }));
    BOOST_TEST((done.outcome().ok() && all(into, 9) && all(p, 1, large, small, 9)));
    fake::hold("fake0", "fake1");
    completion never;
    BOOST_TEST(p.submit(0, get(plain(into.data()), p.at(0, 1), large, &never)));
    BOOST_TEST(p.submit(0, get(plain(into.data()), p.at(0, 1), small, &never)));
    BOOST_TEST(p.submit(0, swap(plain(into.data()), p.at(0, 1), 1, &never)));
    p.leave(0);
    BOOST_TEST((never.idle() && never.outcome().failed()));
  }
  BOOST_TEST(registered() == 0u);
}
