// Engines upon verbs, from and into memory of the user's that was never registered: over adapters that exist in this process
// alone, where ranks are its threads.
// verbs_fake_engines --run_test=many_seeds -- [--seeds K] [--from S]: K random BSP programs by each scheme
#include <boost/test/unit_test.hpp>

#include <atomic>

#include "collectives/communicator.h"
#include "tests/bsp/model.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"
#include "tests/verbs/fake_party.h"

using namespace tutti;
using namespace tutti::test;

namespace {

run_options as_threads(std::uint64_t seed) {
  return {.timeout = std::chrono::seconds(60) * time_scale, .seed = seed, .threads = true};
}

}  // namespace

// Above the 4 KiB from which bsp_hpput and bsp_hpget go straight from where the data lie, and below.
BOOST_AUTO_TEST_CASE(bsp_programs) {
  fake::install(roce(4));
  for (const char* fabric : {"verbs", "router(shm+verbs)"})
    for (const bsp::scheme how : {bsp::scheme::automatic, bsp::scheme::baseline, bsp::scheme::dissemination, bsp::scheme::rdma})
      for (const std::uint32_t most : {3000u, 200'000u})
        run_ranks({fabric}, 3, [&](rank_env& env) {
          auto j = open_job(env);
          auto e = take(bsp::engine::open(j->world(), {.how = how}), "engine");
          for (std::uint32_t k = 0; k < 6; ++k) run_random_program(*e, 7000 + k, {.most_bytes = most});
          const bool left = e->leave();
          require(left, e->error().text());
        }, as_threads(most));
}

// As many as cost seconds, since no network is in between: by every scheme, between processes all of whom the adapters join,
// and between two nodes. In every eighth program puts are large enough to be read from their sender, where that pays.
BOOST_AUTO_TEST_CASE(many_seeds) {
  const std::uint64_t seeds = std::stoull(argument("--seeds", "24")), from = std::stoull(argument("--from", "200000"));
  fake::install(roce(4));
  const shared_words bulk(2);  // how often large puts were pulled, and pushed, where that is chosen
  for (const char* fabric : {"verbs", "router(shm+verbs)"})
    for (const std::uint32_t n : {2u, 3u, 4u}) {
      const bool alone = fabric == std::string_view{"verbs"};
      const std::uint64_t share = (seeds + 5) / 6, first = from + n * 1000000 + (alone ? 0 : 500000);
      const bool ran = run_ranks({fabric}, n, [&](rank_env& env) {
        auto j = open_job(env);
        for (const bsp::scheme_row& row : bsp::schemes()) {
          if (row.id == bsp::scheme::multicast && !j->net().mcast()) fail("no multicast");
          auto e = take(bsp::engine::open(j->world(), {.how = row.id}), "engine");
          for (std::uint64_t k = 0; k < share; ++k)
            run_random_program(*e, first + k, {.most_bytes = k % 8 == 1 ? 200'000u : 3000u, .large = k % 8 == 1});
          if (row.id == bsp::scheme::automatic) bulk[0] += e->bulk_pulled(), bulk[1] += e->bulk_pushed();
          const bool left = e->leave();
          require(left, e->error().text());
        }
        env.barrier();
        for (const std::string& b : fake::breaches()) fail(b);
      }, {.timeout = std::chrono::seconds(45 + seeds / 4) * time_scale, .seed = first, .threads = true});
      BOOST_TEST(ran, fabric << " cannot be used here");
      BOOST_TEST_MESSAGE(fabric << ", " << n << " processes: " << share << " programs by each of " << bsp::schemes().size()
                                << " schemes, from seed " << first);
    }
  BOOST_TEST_MESSAGE("large puts: pulled " << bulk[0] << " times, pushed " << bulk[1] << " times");
  if (seeds >= 24) BOOST_TEST((bulk[0] > 0 && bulk[1] > 0), "both ways are taken");
}

BOOST_AUTO_TEST_CASE(broadcasts) {
  fake::install(roce(4));
  for (const char* name : {"binomial", "chain", "multicast"})
    run_ranks({"verbs"}, 4, [&](rank_env& env) {
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {.bcast = name}), "world");
      for (const std::size_t bytes : {8u, 3000u, 8193u, 300'000u})
        for (std::uint32_t root = 0; root < env.size; ++root) {
          std::vector<std::byte> data(bytes, std::byte(env.rank == root ? root + 1 : 0xee));
          require(team->broadcast(root, data), name);
          require(data.front() == std::byte(root + 1) && data == std::vector(bytes, data.front()), "every byte");
        }
      require(team->group().settle(), "leaving");
      team.reset();
      env.barrier();
    }, as_threads(1));
}

namespace {

// While all take up to 100 turns, an operation is lost. Its origin has gone on, and nobody has died: nobody waits for ever all
// the same. (It may have been a bell alone, which nobody misses; and what is under way to a queue pair that was dropped is
// given up at once here, as if its rank had died.)
template <class Make>
void lose_one(std::uint64_t seed, const Make& make) {
  fake::install(roce(4));
  std::atomic<std::uint32_t> here = 0;
  run_ranks({"verbs"}, 4, [&](rank_env& env) {
    auto j = open_job(env);
    auto turn = make(env, *j);
    status s;
    for (std::uint32_t epoch = 0; s.ok() && epoch < 100; ++epoch) {
      if (env.rank == 0 && epoch == 10 + seed) fake::fail_next("fake0", "fake0", IBV_WC_REM_INV_REQ_ERR, 0x17);
      s = turn(epoch);
    }
    ++here;
    env.until("all to be here", [&] { return j->net().progress(), here == env.size; });
  }, as_threads(seed));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_signal_of_a_barrier_that_is_lost_lets_nobody_wait_for_ever) {
  for (const std::string name : {"dissemination", "tree", "pairwise", "counter"})
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      lose_one(seed, [&](rank_env&, job& j) {
        std::shared_ptr<communicator> team = take(communicator::world(j, {.barrier = name}), "world");
        return [team](std::uint32_t) { return team->barrier().enter(); };
      });
}

BOOST_AUTO_TEST_CASE(an_operation_of_a_broadcast_that_is_lost_lets_nobody_wait_for_ever) {
  for (const std::string name : {"binomial", "chain", "multicast"})
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      lose_one(seed, [&](rank_env& env, job& j) {
        std::shared_ptr<communicator> team = take(communicator::world(j, {.bcast = name}), "world");
        return [team, size = env.size, data = std::vector<std::byte>(3000)](std::uint32_t epoch) mutable {
          return team->broadcast(epoch % size, data);
        };
      });
}
