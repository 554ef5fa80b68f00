// By which route a message travels: the priced choice by itself, and that the engine follows it where costs were measured.
#include "core/job/registration_cache.h"
#include "messaging/routes.h"
#include "tests/messaging/messages_env.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using namespace tutti::messaging;

constexpr loggp shared_memory{0.08, 0.02, 0.02, 24}, loopback{4, 1, 1, 4};

pair_routes::facts facts(const loggp& link, bool mapped, std::uint32_t max_payload = 4000) {
  pair_routes::facts f;
  f.link = f.costs.node = f.costs.network = link, f.mapped = f.kernel_copies = mapped;
  f.limits.max_payload = max_payload;
  return f;
}

}  // namespace

// Figures that were measured before there were prices.
BOOST_AUTO_TEST_CASE(priors_give_the_measured_thresholds) {
  const pair_routes near(facts(shared_memory, true)), far(facts(loopback, false));
  BOOST_TEST(near.short_limit() == 9920u);
  BOOST_TEST(near.eager_limit() == 64u * 1024);
  BOOST_TEST(near.kernel_from() == 48u * 1024);
  BOOST_TEST(far.short_limit() == 64u * 1024);
  BOOST_TEST(pair_routes(facts(shared_memory, true, 16'000)).short_limit() == 16'000u);
  auto crowded = facts(shared_memory, true);  // an answer takes two turns of a shared core
  crowded.turn_us = crowded.costs.turn_us(2);
  BOOST_TEST(pair_routes(crowded).short_limit() == 9920u + 2 * 1600 * 8);
  BOOST_TEST(crowded.costs.turn_us(1) == 0);
  BOOST_TEST(pair_routes(facts({}, false)).eager_limit() == 8000u);  // of a fabric that tells no costs: a microsecond of bookkeeping
}

// Ranks that map each other's memory by a fabric that carries the rest by messages.
BOOST_AUTO_TEST_CASE(without_the_kernel_all_lengths_are_staged) {
  auto f = facts(shared_memory, true);
  f.kernel_copies = false;
  const pair_routes routes(f);
  BOOST_TEST(routes.kernel_from() == ~std::uint64_t{0});
  for (const std::uint64_t bytes : {std::uint64_t{70'000}, std::uint64_t{1} << 20, std::uint64_t{1} << 30})
    BOOST_TEST((routes.of({bytes}) == route::staged));
}

BOOST_AUTO_TEST_CASE(the_route_is_the_cheapest_near_each_threshold) {
  for (const double slower : {0.25, 1.0, 3.0})
    for (const double call_us : {0.5, 3.0, 40.0}) {
      auto f = facts(shared_memory, true, 64);
      f.costs.copied_bytes_per_ns /= slower, f.costs.cached_bytes_per_ns /= slower, f.costs.fetch_us = call_us;
      const pair_routes routes(f);
      const std::uint64_t limit = routes.eager_limit();
      BOOST_TEST_CONTEXT("copies " << slower << " times slower, a call " << call_us << " us") {
        BOOST_TEST((routes.of({limit}) == route::eager && routes.of({limit + 1}) != route::eager));
        const std::uint64_t from = routes.kernel_from();
        if (from == ~std::uint64_t{0}) continue;
        const auto gain = [&](std::uint64_t bytes) { return routes.price_us(route::staged, {bytes}) - routes.price_us(route::kernel, {bytes}); };
        BOOST_TEST(gain(from) >= 0);
        if (from > 4096) BOOST_TEST(gain(from - 4096) < 0);
        BOOST_TEST((routes.rendezvous({from}) == route::kernel));
        if (from > limit) BOOST_TEST((routes.rendezvous({from - 1}) == route::staged));
      }
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_had_is_not_chosen) {
  for (const design& d : designs)
    for (const bool mapped : {false, true}) {
      auto f = facts(shared_memory, mapped);
      f.design = &d;
      const pair_routes routes(f);
      for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{20'000}, std::uint64_t{1} << 20})
        for (const message_load m : {message_load{bytes}, message_load{bytes, true, false}, message_load{bytes, false, true}}) {
          BOOST_TEST(routes.possible(routes.of(m), m));
          route r = routes.rendezvous(m);
          for (int turns = 0; r != route::stream; r = routes.next(r, m), ++turns) BOOST_TEST_REQUIRE((routes.possible(r, m) && turns < 7));
        }
      BOOST_TEST((d.apart || routes.rendezvous({1 << 20}) == route::stream));
      BOOST_TEST((routes.rendezvous({1 << 20, true, false}) == route::in_place) == (mapped && d.one_copy));
    }
}

namespace {

// How often memory was registered for a message: it is for the kernel's copies, and not for staging memory.
std::uint64_t registered_for(messenger& me, std::uint64_t bytes) {
  const registration_cache& kept = me.j->registrations();
  const auto before = kept.counted();
  std::vector<std::byte> in(bytes);
  const auto out = payload_of(me.env.rank, bytes);
  const rank_t peer = 1 - me.env.rank;
  require(me.tagged().exchange({&me.world(), peer, 1, out.data(), bytes}, {&me.world(), peer, 1, messenger::whole, in.data(), bytes, nullptr}), "exchange");
  require_payload(in, peer, "its payload");
  return kept.counted().misses + kept.counted().hits - before.misses - before.hits;
}

// Whether a send is complete though nobody receives.
bool complete_at_once(messenger& me, std::uint64_t bytes) {
  const rank_t peer = 1 - me.env.rank;
  const auto out = payload_of(me.env.rank, bytes);
  std::vector<std::byte> in(bytes);
  completion sent;
  me.start_send(peer, 2, out, sent);
  const bool at_once = sent.idle();
  me.meet();
  (void)me.receive(peer, 2, messenger::whole, in);
  require(me.wait(sent), "the send");
  return at_once;
}

}  // namespace

// Costs as a tuning table has them, alike in both ranks, move what the engine does.
BOOST_AUTO_TEST_CASE(measured_costs_decide) {
  const auto measured = [](double fetch_us, double copied) {
    job_options how;
    how.measured = [=](transfer_costs& c, std::string_view) { c.fetch_us = fetch_us, c.copied_bytes_per_ns = copied, c.cached_bytes_per_ns = 3 * copied; };
    return how;
  };
  run_ranks({"shm"}, 2, [&](rank_env& env) {
    {
      messenger me(env);
      require_equal(registered_for(me, 60'000), 0, "eager up to 64 KiB");
      const bool kernel = me.j->facts().exposes_any;
      require_equal(registered_for(me, 70'000) > 0, kernel, "copied by the kernel beyond");
      require(complete_at_once(me, 40'000), "eager up to 64 KiB");
      require(!complete_at_once(me, 70'000), "and not beyond");
      me.meet();
    }
    {
      messenger me(env, measured(1000, 8));
      require_equal(registered_for(me, 100'000), 0, "a call that costs a millisecond is not made");
      me.meet();
    }
    {
      messenger me(env, measured(3, 2));
      require(!complete_at_once(me, 40'000), "eager no longer where copies are dear");
      me.meet();
    }
  });
}
