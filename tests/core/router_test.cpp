#define BOOST_TEST_MODULE router
#include "core/router.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "core/paired_blob.h"
#include "tests/core/fake_transport.h"

using namespace tutti;
using test::fake_transport;

namespace {

constexpr std::uint32_t near_base = 3, far_base = 70;  // ids of the two children never coincide

// Ranks 0 and 2 are on this node, 1 and 3 are not.
struct fixture {
  fake_transport* near = nullptr;
  fake_transport* far = nullptr;
  std::unique_ptr<transport> both;

  explicit fixture(int near_fd = -1, int far_fd = -1, std::set<rank_t> on_node = {0, 2}) {
    auto n = std::make_unique<fake_transport>("near");
    auto f = std::make_unique<fake_transport>("far");
    near = n.get(), far = f.get();
    near->reached_ranks = std::move(on_node), far->reached_ranks = {0, 1, 2, 3};
    near->next_region = near->next_segment = near_base;
    far->next_region = far->next_segment = far_base;
    near->fd = near_fd, far->fd = far_fd;
    auto made = make_router(std::move(n), std::move(f), {});
    BOOST_REQUIRE_MESSAGE(made.ok(), made.error().text());
    both = std::move(*made);
    auto addresses = std::make_shared<blob_table>();
    const auto mine = both->address();
    BOOST_REQUIRE(mine.ok());
    for (int r = 0; r < 4; ++r) addresses->push_back(*mine);
    BOOST_REQUIRE(both->connect(addresses, time_point::max()).ok());
  }

  // A region and a segment of all four ranks.
  std::pair<region_id, segment_id> memory() {
    std::span<std::byte> given;
    const auto region = both->allocate(4096, given);
    BOOST_REQUIRE(region.ok());
    const auto key = both->key(*region);
    BOOST_REQUIRE(key.ok());
    auto keys = std::make_shared<blob_table>();
    for (int r = 0; r < 4; ++r) keys->push_back(*key);
    const auto segment = both->attach(rank_map::strided(0, 4), keys);
    BOOST_REQUIRE(segment.ok());
    return {*region, *segment};
  }
};

rma_op put(rank_t rank, region_id local, segment_id remote, std::uint64_t number) {
  rma_op op{};
  op.rank = rank, op.local = local, op.remote = remote, op.signal = remote, op.operand = number;
  return op;
}

}  // namespace

BOOST_AUTO_TEST_CASE(addresses_are_paired_and_split) {
  fixture f;
  BOOST_TEST(f.near->addresses == std::vector<std::string>(4, "near-address"), boost::test_tools::per_element());
  BOOST_TEST(f.far->addresses == std::vector<std::string>(4, "far-address"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_strangers_address_is_a_protocol_error_that_names_the_rank) {
  fixture f;
  auto addresses = std::make_shared<blob_table>();
  addresses->push_back(*f.both->address());
  addresses->push_back(test::bytes_of("no"));
  const status s = f.both->connect(addresses, time_point::max());
  BOOST_TEST((s.code() == errc::protocol));
  BOOST_TEST(s.peer() == 1u);
}

// Every pattern of up to six operations, every room of each child: what is taken is what one by one would be taken.
BOOST_AUTO_TEST_CASE(a_refusal_of_either_child_ends_the_prefix) {
  fixture f;
  const auto [region, segment] = f.memory();
  for (unsigned n = 0; n <= 6; ++n)
    for (unsigned pattern = 0; pattern < 1u << n; ++pattern)
      for (unsigned near_room = 0; near_room <= n; ++near_room)
        for (unsigned far_room = 0; far_room <= n; ++far_room) {
          std::vector<rma_op> ops;
          for (unsigned i = 0; i < n; ++i)
            ops.push_back(put(pattern >> i & 1 ? 1 + 2 * (i % 2) : 0, region, segment, i));
          std::vector<std::uint64_t> expect_near, expect_far;
          std::size_t expect = 0;
          for (unsigned room[2] = {near_room, far_room}; expect < n && room[pattern >> expect & 1] > 0; ++expect) {
            const bool far = pattern >> expect & 1;
            --room[far];
            (far ? expect_far : expect_near).push_back(expect);
          }
          f.near->taken.clear(), f.far->taken.clear();
          f.near->room = near_room, f.far->room = far_room;
          const std::size_t taken = f.both->submit(ops);
          const auto numbers = [](const fake_transport& t) {
            std::vector<std::uint64_t> out;
            for (const rma_op& op : t.taken) out.push_back(op.operand);
            return out;
          };
          if (taken != expect || numbers(*f.near) != expect_near || numbers(*f.far) != expect_far)
            BOOST_ERROR("n " << n << " pattern " << pattern << " rooms " << near_room << ' ' << far_room << ": took "
                             << taken << ", expected " << expect);
        }
}

BOOST_AUTO_TEST_CASE(long_runs_to_the_network_keep_their_order_at_every_refusal) {
  fixture f;
  const auto [region, segment] = f.memory();
  std::vector<rma_op> ops;
  for (unsigned i = 0; i < 40; ++i) ops.push_back(put(i == 35 ? 0 : 3, region, segment, i));
  for (std::size_t room = 0; room <= 40; ++room) {
    f.near->taken.clear(), f.far->taken.clear();
    f.far->room = room;
    const std::size_t expect = room >= 39 ? 40 : room < 35 ? room : room + 1;  // at 35 stands one of the node's
    BOOST_TEST(f.both->submit(ops) == expect);
    BOOST_TEST(f.far->taken.size() == std::min<std::size_t>(room, 39));
    BOOST_TEST(f.near->taken.size() == (room >= 35 ? 1u : 0u));
    for (std::size_t i = 0; i < f.far->taken.size(); ++i) BOOST_TEST(f.far->taken[i].operand == i + (i >= 35));
  }
}

BOOST_AUTO_TEST_CASE(ids_are_the_nodes_and_are_translated_for_the_network) {
  fixture f;
  const auto [region, segment] = f.memory();
  BOOST_TEST(static_cast<std::uint32_t>(region) == near_base);
  BOOST_TEST(static_cast<std::uint32_t>(segment) == near_base);
  const auto [region2, segment2] = f.memory();
  const rma_op near[] = {put(0, region, segment, 0), put(2, region2, segment2, 1)};
  BOOST_TEST(f.both->submit(near) == 2u);
  BOOST_TEST(f.near->last_span == near);  // as they stand, not copied
  rma_op far[] = {put(1, region, segment2, 0), put(3, plain_memory, segment, 1)};
  far[0].signal = segment;
  far[0].kind = op_kind::put_signal;
  BOOST_TEST(f.both->submit(far) == 2u);
  BOOST_TEST((f.far->taken[0].local == region_id{far_base}));
  BOOST_TEST((f.far->taken[0].remote == segment_id{far_base + 1}));
  BOOST_TEST((f.far->taken[0].signal == segment_id{far_base}));
  BOOST_TEST((f.far->taken[1].local == plain_memory));
  BOOST_TEST((far[0].local == region));  // the caller's array is untouched
}

BOOST_AUTO_TEST_CASE(each_child_gets_the_keys_of_its_own_ranks) {
  fixture f;
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
  fixture f;
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
  fixture f;
  for (int round = 0; round < 100; ++round) {
    f.near->next_region = f.near->next_segment = near_base;  // a provider that reuses its ids at once
    const auto [region, segment] = f.memory();
    const rma_op op = put(1, region, segment, 0);
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

BOOST_AUTO_TEST_CASE(a_flush_goes_to_the_ranks_child) {
  fixture f;
  completion done;
  BOOST_TEST(f.both->flush(2, &done));
  BOOST_TEST(f.both->flush(3, &done));
  BOOST_TEST(f.near->flushed == std::vector<rank_t>{2}, boost::test_tools::per_element());
  BOOST_TEST(f.far->flushed == std::vector<rank_t>{3}, boost::test_tools::per_element());
  BOOST_TEST(done.pending() == 2u);
  f.near->flush_room = f.far->flush_room = 0;
  BOOST_TEST(!f.both->flush(0, &done));
  BOOST_TEST(!f.both->flush(1, &done));
  BOOST_TEST(done.pending() == 2u);
  f.near->finish_all();
  f.far->finish_all();
}

BOOST_AUTO_TEST_CASE(a_flush_of_all_is_taken_by_both_or_by_none) {
  for (const std::size_t near_room : {0u, 1u})
    for (const std::size_t far_room : {0u, 1u})
      for (const bool near_first : {false, true}) {
        fixture f;
        completion done;
        f.near->flush_room = near_room, f.far->flush_room = far_room;
        const bool taken = f.both->flush(no_rank, &done);
        BOOST_TEST(taken == (far_room == 1));
        if (!taken) {
          BOOST_TEST(done.idle());
          BOOST_TEST(f.near->flushed.empty());
          continue;
        }
        BOOST_TEST(done.pending() == 2u);
        f.both->progress();  // the node still refuses
        if (near_room == 0) BOOST_TEST(f.near->flushed.empty());
        f.far->finish_all();
        BOOST_TEST(done.pending() == 1u);
        f.near->flush_room = fake_transport::all;
        f.both->progress();
        BOOST_TEST(f.near->flushed == std::vector<rank_t>{no_rank}, boost::test_tools::per_element());
        BOOST_TEST(done.pending() == 1u);
        f.near->finish_all(near_first ? status{errc::fabric, "lost"} : status{});
        BOOST_TEST(done.idle());
        BOOST_TEST(done.outcome().ok() == !near_first);
        f.both->progress();
        BOOST_TEST(f.near->flushed.size() == 1u);  // paid once
      }
}

BOOST_AUTO_TEST_CASE(owed_flushes_are_bounded_and_paid_in_order) {
  fixture f;
  std::array<completion, 100> done;
  f.near->flush_room = 0;
  std::size_t taken = 0;
  while (taken < done.size() && f.both->flush(no_rank, &done[taken])) ++taken;
  BOOST_TEST(taken > 0u);
  BOOST_TEST(taken < done.size());
  BOOST_TEST(done[taken].idle());
  BOOST_TEST(!f.both->arm(transport::wake_by::sleep));  // nothing would wake it
  for (std::size_t paid = 1; paid <= taken; ++paid) {
    f.near->flush_room = 1;
    f.near->finish_at_once = true;
    f.both->progress();
    for (std::size_t i = 0; i < taken; ++i) BOOST_TEST(done[i].pending() == (i < paid ? 1u : 2u));
  }
  f.far->finish_all();
  for (const completion& c : done) BOOST_TEST(c.idle());
}

BOOST_AUTO_TEST_CASE(slices_are_translated_and_stay_until_done) {
  fixture f;
  const auto [region, segment] = f.memory();
  const auto [region2, segment2] = f.memory();
  std::array<slice, 3> mine{{{region, 8, 0}, {region2, 16, 64}, {plain_memory, 4, 4096}}};
  const auto scatter = [&](rank_t rank, completion* done) {
    rma_op op{};
    op.kind = op_kind::get_scatter, op.rank = rank, op.remote = segment2, op.slices = 3, op.scatter = mine.data();
    op.done = done;
    return op;
  };
  completion done;
  const rma_op near = scatter(0, &done), far = scatter(1, &done);
  BOOST_TEST(f.both->submit({&near, 1}) == 1u);
  BOOST_TEST(f.near->taken.back().scatter == mine.data());
  f.near->finish_all();
  BOOST_TEST(f.both->submit({&far, 1}) == 1u);
  BOOST_TEST(done.pending() == 1u);
  const slice* theirs = f.far->taken.back().scatter;
  BOOST_TEST(theirs != mine.data());
  BOOST_TEST((theirs[0].local == region_id{far_base}));
  BOOST_TEST((theirs[1].local == region_id{far_base + 1}));
  BOOST_TEST((theirs[2].local == plain_memory));
  BOOST_TEST(theirs[1].local_offset == 64u);
  BOOST_TEST(theirs[1].bytes == 16u);
  f.both->progress();
  BOOST_TEST(done.pending() == 1u);
  f.far->finish_all({errc::fabric, "lost"});
  BOOST_TEST(!f.both->arm(transport::wake_by::sleep));  // it has ended meanwhile: settled here, so do not sleep
  BOOST_TEST(done.idle());
  BOOST_TEST(std::string{done.outcome().text()} == "lost");
  BOOST_TEST(f.both->arm(transport::wake_by::sleep));
  f.both->disarm();
}

// Many of them, among puts, with every room of the network: a prefix, each completion begun and ended once, and the
// slots come back.
BOOST_AUTO_TEST_CASE(scatters_are_bounded_and_refused_as_a_prefix) {
  fixture f;
  const auto [region, segment] = f.memory();
  const slice one{region, 8, 0};
  std::array<completion, 60> done;
  std::vector<rma_op> ops;
  for (unsigned i = 0; i < 60; ++i) {
    ops.push_back(put(1, region, segment, i));
    if (i % 3) ops[i].kind = op_kind::get_scatter, ops[i].slices = 1, ops[i].scatter = &one;
    ops[i].done = &done[i];
  }
  std::size_t most = 0;
  for (std::size_t room = 0; room <= 60; ++room) {
    f.far->taken.clear();
    f.far->room = room;
    const std::size_t taken = f.both->submit(ops);
    most = std::max(most, taken);
    bool good = taken <= room && f.far->taken.size() == taken;
    good &= taken == room || taken == most;  // short of the room only when the slots are used up
    for (std::size_t i = 0; i < 60; ++i) good &= done[i].pending() == (i < taken);
    for (std::size_t i = 0; i < taken; ++i) good &= f.far->taken[i].operand == i;
    f.far->finish_all();
    f.both->progress();
    for (const completion& c : done) good &= c.idle();
    if (!good) BOOST_ERROR("room " << room << ": took " << taken);
  }
  BOOST_TEST(most > 8u);   // more than a chunk
  BOOST_TEST(most < 60u);  // and bounded
}

BOOST_AUTO_TEST_CASE(a_scatter_without_completion_reports_at_its_ranks_flush) {
  for (const bool known_before : {false, true}) {
    fixture f;
    const auto [region, segment] = f.memory();
    const slice one{region, 8, 0};
    rma_op op = put(3, region, segment, 0);
    op.kind = op_kind::get_scatter, op.slices = 1, op.scatter = &one;
    BOOST_TEST(f.both->submit({&op, 1}) == 1u);
    if (known_before) {
      f.far->finish_all({errc::peer_dead, "gone", 3});
      f.both->progress();
    }
    completion other, mine;
    BOOST_TEST(f.both->flush(1, &other));
    BOOST_TEST(f.both->flush(0, &other));
    BOOST_TEST(f.both->flush(3, &mine));
    BOOST_TEST(mine.pending() == (known_before ? 1u : 2u));  // the flush, and the scatter that is still in flight
    f.near->finish_all();
    f.far->finish_all(known_before ? status{} : status{errc::peer_dead, "gone", 3});
    f.both->progress();
    BOOST_TEST(mine.idle());
    BOOST_TEST((mine.outcome().code() == errc::peer_dead));
    BOOST_TEST(other.idle());
    if (known_before) BOOST_TEST(other.outcome().ok());
  }
}

BOOST_AUTO_TEST_CASE(capabilities_hold_for_both) {
  auto n = std::make_unique<fake_transport>("near");
  auto f = std::make_unique<fake_transport>("far");
  n->limits.max_bytes = 1000, f->limits.max_bytes = 500;
  n->limits.max_inline = 32, f->limits.max_inline = 200;
  n->limits.any_local_memory = true;
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
  BOOST_TEST(!c.any_local_memory);
  BOOST_TEST(c.target_must_progress);
  BOOST_TEST(!c.native_signal);
  BOOST_TEST(c.native_atomics);
  BOOST_TEST(c.detects_death);
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

BOOST_AUTO_TEST_CASE(atomics_that_do_not_agree_are_refused) {
  for (const bool near_agrees : {false, true}) {
    auto n = std::make_unique<fake_transport>("near");
    auto f = std::make_unique<fake_transport>("far");
    n->limits.cpu_atomics_agree = near_agrees, f->limits.cpu_atomics_agree = !near_agrees;
    const auto made = make_router(std::move(n), std::move(f), {});
    BOOST_REQUIRE(!made.ok());
    BOOST_TEST((made.error().code() == errc::unsupported));
    BOOST_TEST(std::string{made.error().text()}.find(near_agrees ? "network" : "node") != std::string::npos);
  }
  BOOST_TEST((make_router(nullptr, nullptr, {}).error().code() == errc::invalid));
}

BOOST_AUTO_TEST_CASE(health_map_and_reach_are_the_childs) {
  fixture f;
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
  fixture split;
  split.near->mc = marker(a), split.far->mc = marker(b);
  BOOST_TEST(split.both->mcast() == marker(b));
  fixture one{-1, -1, {0, 1, 2, 3}};
  one.near->mc = marker(a), one.far->mc = marker(b);
  BOOST_TEST(one.both->mcast() == marker(a));
}

BOOST_AUTO_TEST_CASE(one_descriptor_wakes_for_either) {
  const int fds[2] = {::eventfd(0, EFD_NONBLOCK), ::eventfd(0, EFD_NONBLOCK)};
  {
    fixture f{fds[0], fds[1]};
    BOOST_TEST(f.both->caps().can_sleep);
    BOOST_TEST(f.both->wait_fd() >= 0);
    for (const int fd : fds) {
      BOOST_REQUIRE(f.both->arm(transport::wake_by::sleep));
      BOOST_TEST(f.near->calls.back() == "arm_fd");
      BOOST_TEST(f.far->calls.back() == "arm_fd");
      BOOST_REQUIRE(::eventfd_write(fd, 1) == 0);
      f.both->sleep(time_point::max());  // would hang, were it deaf to this one
      eventfd_t ignored;
      BOOST_REQUIRE(::eventfd_read(fd, &ignored) == 0);
    }
    f.far->room = 0;
    const rma_op op = put(1, plain_memory, {}, 0);
    BOOST_TEST(f.both->submit({&op, 1}) == 0u);
    BOOST_REQUIRE(f.both->arm(transport::wake_by::sleep));
    f.both->sleep(time_point::max());  // refused: ends by itself, since room wakes nobody
    BOOST_REQUIRE(f.both->arm(transport::wake_by::sleep));
    f.both->sleep(f.both->now() - std::chrono::seconds{1});  // a deadline that has passed returns at once
    f.both->sleep(time_point{});
  }
  for (const int fd : fds) ::close(fd);
}

BOOST_AUTO_TEST_CASE(work_at_either_refuses_the_sleep_and_leaves_the_other_disarmed) {
  fixture f;
  f.near->has_work = true;
  BOOST_TEST(!f.both->arm(transport::wake_by::sleep));
  BOOST_TEST(!f.far->armed);
  f.near->has_work = false, f.far->has_work = true;
  BOOST_TEST(!f.both->arm(transport::wake_by::sleep));
  BOOST_TEST(!f.near->armed);
  BOOST_TEST(!f.both->arm(transport::wake_by::fd));  // there is none
  f.far->has_work = false;
  BOOST_TEST(f.both->arm(transport::wake_by::sleep));
  f.both->disarm();
  BOOST_TEST(!f.near->armed);
  BOOST_TEST(!f.far->armed);
}

BOOST_AUTO_TEST_CASE(without_a_common_descriptor_naps_are_bounded_and_grow) {
  using namespace std::chrono_literals;
  const int fd = ::eventfd(0, EFD_NONBLOCK);
  {
    fixture f{-1, fd};  // the node can only sleep in its own way
    std::chrono::nanoseconds last{};
    for (int i = 0; i < 10; ++i) {
      BOOST_REQUIRE(f.both->arm(transport::wake_by::sleep));
      BOOST_TEST(f.near->calls.back() == "arm_sleep");
      BOOST_TEST(f.far->calls.back() == "arm_fd");
      const time_point before = f.near->now();
      f.both->sleep(time_point::max());
      const time_point after = f.near->now();
      BOOST_TEST((f.near->slept_until <= after + 1ms));
      BOOST_TEST((f.near->slept_until >= before + 50us));
      last = f.near->slept_until - before;
    }
    BOOST_TEST((last >= 1ms));  // the longest
    f.near->events = 1;
    f.both->progress();
    f.both->sleep(time_point::max());
    BOOST_TEST((f.near->slept_until <= f.near->now() + 50us));  // short again after an event
    const time_point soon = f.near->now() + 1us;
    f.both->sleep(soon);
    BOOST_TEST((f.near->slept_until <= soon));
  }
  ::close(fd);
}

BOOST_AUTO_TEST_CASE(the_network_goes_first_when_all_ends) {
  std::string order;
  {
    fixture f;
    f.near->on_destroy = [&] { order += 'n'; };
    f.far->on_destroy = [&] { order += 'f'; };
  }
  BOOST_TEST(order == "fn");
}
