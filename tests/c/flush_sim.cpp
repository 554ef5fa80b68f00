// As flush.c, on the simulated fabric.
#include <boost/test/unit_test.hpp>

#include "tests/c/context_of_rank.h"

namespace {

using namespace tutti;
using namespace tutti::test;

tutti_window_t open_window(tutti_context& ctx) {
  void* base;
  tutti_window_t w;
  expect(ctx, tutti_window_create(api::handle_of(ctx.world.get()), 64, &base, &w), TUTTI_OK);
  return w;
}

constexpr double compute_us = 20000;

void compute(rank_env& env) {
  for (double t = 0; t < compute_us; t += 20) env.pass_time();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_flush_does_not_wait_for_other_ranks) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    run_ranks({"sim:tcp"}, 3, [](rank_env& env) {
      const auto ctx = make_context(env);
      const tutti_window_t w = open_window(*ctx);
      env.barrier();
      const time_point begin = env.net().now();
      if (env.rank == 2) compute(env);
      if (env.rank == 0) {
        std::uint64_t got = 7, sent = 5;
        expect(*ctx, tutti_get(w, 2, 0, &got, 8, nullptr), TUTTI_OK);
        expect(*ctx, tutti_put(w, 1, 0, &sent, 8, nullptr), TUTTI_OK);
        expect(*ctx, tutti_flush(w, 1, -1), TUTTI_OK);
        const std::chrono::duration<double, std::micro> taken = env.net().now() - begin;
        if (taken.count() > compute_us / 2) fail("flush(1) took " + std::to_string(taken.count()) + " us");
        expect(*ctx, tutti_flush(w, 2, -1), TUTTI_OK);
        if (got != 0) fail("flush(2) left the get behind");
      }
      env.barrier();
    }, {.seed = seed});
}

BOOST_AUTO_TEST_CASE(errors_are_told_by_the_flush_of_their_rank) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    run_ranks({"sim:tcp"}, 3, [](rank_env& env) {
      const auto ctx = make_context(env);
      const tutti_window_t w = open_window(*ctx);
      std::uint64_t got = 0, old = 0;
      env.barrier();
      if (env.rank == 0) {  // under way to a rank that makes no more progress
        expect(*ctx, tutti_get(w, 2, 0, &got, 8, nullptr), TUTTI_OK);
        expect(*ctx, tutti_fetch_add(w, 2, 8, 1, &old, nullptr), TUTTI_OK);
      }
      if (env.rank == 2) env.die();
      if (env.rank == 0) {
        env.until("death", [&] { return env.net().health(2).failed(); });
        for (int i = 0; i < 2; ++i) {
          expect(*ctx, tutti_get(w, 1, 0, &got, 8, nullptr), TUTTI_OK);
          expect(*ctx, tutti_flush(w, 1, -1), TUTTI_OK);
        }
        expect(*ctx, tutti_flush(w, 2, -1), TUTTI_PEER_DEAD);
        if (tutti_error_peer(api::handle_of(ctx.get())) != 2) fail("another rank is named");
        expect(*ctx, tutti_flush(w, 1, -1), TUTTI_OK);
      }
      env.barrier();
    }, {.seed = seed, .to_die = {2}});
}

BOOST_AUTO_TEST_CASE(a_flush_that_timed_out_forgets_no_error) {
  run_ranks({"sim:tcp"}, 3, [](rank_env& env) {
    const auto ctx = make_context(env);
    const tutti_window_t w = open_window(*ctx), v = open_window(*ctx);
    std::uint64_t got = 0;
    env.barrier();
    if (env.rank == 0) {
      expect(*ctx, tutti_get(w, 2, 0, &got, 8, nullptr), TUTTI_OK);
      expect(*ctx, tutti_get(v, 1, 0, &got, 8, nullptr), TUTTI_OK);
    }
    if (env.rank == 2) env.die();
    if (env.rank == 0) {
      env.until("death", [&] { return env.net().health(2).failed(); });
      expect(*ctx, tutti_quiet(api::handle_of(ctx.get()), 0), TUTTI_TIMED_OUT);  // rank 1 computes
      expect(*ctx, tutti_flush(w, 2, -1), TUTTI_PEER_DEAD);
    } else {
      compute(env);
    }
    env.barrier();
    if (env.rank == 0) expect(*ctx, tutti_flush(v, 1, -1), TUTTI_OK);
    env.barrier();
  }, {.to_die = {2}});
}
