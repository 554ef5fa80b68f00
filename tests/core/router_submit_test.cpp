#include <boost/test/unit_test.hpp>

#include "tests/core/router_fixture.h"

using namespace tutti;
using namespace tutti::test;

BOOST_AUTO_TEST_CASE(a_refusal_of_either_child_ends_the_prefix) {
  router_fixture f;
  const auto [region, segment] = f.memory();
  for (unsigned n = 0; n <= 6; ++n)
    for (unsigned pattern = 0; pattern < 1u << n; ++pattern)
      for (unsigned near_room = 0; near_room <= n; ++near_room)
        for (unsigned far_room = 0; far_room <= n; ++far_room) {
          std::vector<rma_op> ops;
          for (unsigned i = 0; i < n; ++i)
            ops.push_back(numbered_put(pattern >> i & 1 ? 1 + 2 * (i % 2) : 0, region, segment, i));
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
  router_fixture f;
  const auto [region, segment] = f.memory();
  std::vector<rma_op> ops;
  for (unsigned i = 0; i < 40; ++i) ops.push_back(numbered_put(i == 35 ? 0 : 3, region, segment, i));
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

BOOST_AUTO_TEST_CASE(a_flush_goes_to_the_ranks_child) {
  router_fixture f;
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
        router_fixture f;
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
  router_fixture f;
  std::array<completion, 100> done;
  f.near->flush_room = 0;
  std::size_t taken = 0;
  while (taken < done.size() && f.both->flush(no_rank, &done[taken])) ++taken;
  BOOST_TEST(taken > 0u);
  BOOST_TEST(taken < done.size());
  BOOST_TEST(done[taken].idle());
  BOOST_TEST(!f.both->arm());  // nothing would wake it
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
  router_fixture f;
  const auto [region, segment] = f.memory();
  const auto [region2, segment2] = f.memory();
  std::array<slice, 3> mine{{{region, 8, 0}, {region2, 16, 64}, {unregistered_memory, 4, 4096}}};
  const auto scatter = [&, segment2 = segment2](rank_t rank, completion* done) {
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
  BOOST_TEST((theirs[2].local == unregistered_memory));
  BOOST_TEST(theirs[1].local_offset == 64u);
  BOOST_TEST(theirs[1].bytes == 16u);
  f.both->progress();
  BOOST_TEST(done.pending() == 1u);
  f.far->finish_all({errc::fabric, "lost"});
  BOOST_TEST(!f.both->arm());  // it has ended meanwhile: settled here, so do not sleep
  BOOST_TEST(done.idle());
  BOOST_TEST(std::string{done.outcome().text()} == "lost");
  BOOST_TEST(static_cast<bool>(f.both->arm()));
  f.both->disarm();
}

// Many of them, among puts, with every room of the network: a prefix, each completion begun and ended once, and the
// slots come back.
BOOST_AUTO_TEST_CASE(scatters_are_bounded_and_refused_as_a_prefix) {
  router_fixture f;
  const auto [region, segment] = f.memory();
  const slice one{region, 8, 0};
  std::array<completion, 60> done;
  std::vector<rma_op> ops;
  for (unsigned i = 0; i < 60; ++i) {
    ops.push_back(numbered_put(1, region, segment, i));
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
    router_fixture f;
    const auto [region, segment] = f.memory();
    const slice one{region, 8, 0};
    rma_op op = numbered_put(3, region, segment, 0);
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
