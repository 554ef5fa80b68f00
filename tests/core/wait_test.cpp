// How a rank waits: what it does in which turn, and that nothing is lost between arming and sleeping.
#include <boost/test/unit_test.hpp>

#include "core/base/own_time.h"
#include "core/transport/wait.h"
#include "core/transport/wait_out.h"
#include "tests/core/fake_transport.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

std::size_t count(const fake_transport& t, std::string_view call) {
  std::size_t n = 0;
  for (const auto& c : t.calls) n += c.starts_with(call);
  return n;
}

constexpr time_point never = time_point::max();

}  // namespace

BOOST_AUTO_TEST_CASE(the_policy_sleep_sleeps_in_its_first_turn) {
  fake_transport t("t");
  waiting w(wait_policy::sleep, 1, t.caps());
  w.step(t, 0, [] { return true; }, never);
  BOOST_TEST(w.sleeps() == 1u);
  BOOST_TEST((t.slept_until == never));
}

BOOST_AUTO_TEST_CASE(what_came_between_arming_and_sleeping_is_not_slept_over) {
  fake_transport t("t");
  waiting w(wait_policy::sleep, 1, t.caps());
  bool asked_while_armed = false;
  w.step(t, 0, [&] { asked_while_armed = count(t, "arm") == 1 && t.armed && w.sleeps() == 0; return false; }, never);
  BOOST_TEST(asked_while_armed);
  BOOST_TEST(w.sleeps() == 0u);
}

BOOST_AUTO_TEST_CASE(a_transport_with_work_is_driven_and_not_slept_on) {
  fake_transport t("t");
  t.has_work = true;  // arm() says so by refusing
  waiting w(wait_policy::sleep, 1, t.caps());
  w.step(t, 0, [] { return true; }, never);
  BOOST_TEST(w.sleeps() == 0u);
  BOOST_TEST(count(t, "progress") == 1u);
}

BOOST_AUTO_TEST_CASE(a_wait_yields_for_a_bounded_time_and_then_sleeps) {
  fake_transport t("t");
  waiting w(wait_policy::automatic, 4, t.caps());
  std::uint32_t turn = 0;
  w.step(t, turn++, [] { return true; }, never);
  BOOST_TEST(w.sleeps() == 0u);
  while (w.sleeps() == 0 && turn < 50000000) w.step(t, turn++, [] { return true; }, never);
  BOOST_TEST(w.sleeps() == 1u);
}

// Its yields are as long as what it serves keeps coming; oversubscribed it sleeps all the same, for others want the core.
BOOST_AUTO_TEST_CASE(who_serves_its_peers_goes_on_yielding) {
  fake_transport t("t");
  t.limits.can_sleep = true;
  for (const double ranks_per_core : {1.0, 2.0}) {
    waiting w(wait_policy::automatic, ranks_per_core, t.caps());
    const bool oversubscribed = ranks_per_core > 1;
    const auto end = std::chrono::steady_clock::now() + 5ms;
    for (std::uint32_t turn = 0; w.sleeps() == 0 && (oversubscribed || std::chrono::steady_clock::now() < end); ++turn) {
      t.events = 1;
      w.step(t, turn, [] { return true; }, never);
    }
    BOOST_TEST((oversubscribed || w.sleeps() == 0 || w.long_yields() > 0));  // beside another program nobody yields
  }
}

BOOST_AUTO_TEST_CASE(who_naps_comes_back_from_a_nap_in_which_something_came) {
  for (const bool wakes : {false, true}) {
    fake_transport t("t");
    t.limits.can_sleep = wakes;
    waiting w(wait_policy::automatic, 1, t.caps());
    std::uint32_t turn = 0;
    while (w.sleeps() == 0 && turn < 50000000) w.step(t, turn++, [] { return true; }, never);
    t.events = 1;
    w.step(t, turn++, [] { return true; }, never);
    const std::uint64_t before = w.sleeps();
    w.step(t, turn++, [] { return true; }, never);
    BOOST_TEST((w.sleeps() == before + wakes || w.long_yields() > 0));
  }
}

BOOST_AUTO_TEST_CASE(the_policies_yield_and_spin_never_sleep) {
  for (const auto policy : {wait_policy::yield, wait_policy::spin}) {
    fake_transport t("t");
    waiting w(policy, 4, t.caps());
    for (std::uint32_t turn = 0; turn < 2000; ++turn) w.step(t, turn, [] { return true; }, never);
    BOOST_TEST(w.sleeps() == 0u);
    BOOST_TEST(count(t, "progress") == 2000u);
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_passes_by_changes_nothing) {
  yield_account account(4);
  time_point now{1s};
  for (int wait = 0; wait < 10000; ++wait) {
    BOOST_REQUIRE(account.may_yield([&] { return now; }));
    if (wait % 100 == 0) BOOST_REQUIRE(account.spend(3ms, now += 3ms));
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_stays_costs_one_part_in_a_hundred) {
  yield_account account(1);
  time_point now{1s};
  const auto clock = [&] { return now; };
  const auto wait = [&](std::chrono::nanoseconds yield) {  // its length
    if (!account.may_yield(clock)) return now += 30us, 30us + 0ns;
    now += yield;
    if (account.is_long(yield)) account.spend(yield, now);
    return yield;
  };
  while (now < time_point{2s}) wait(3ms);  // until the credit it began with is gone, and pauses are long
  const time_point begin = now;
  std::chrono::nanoseconds lost{};
  while (now < begin + 30s)
    if (const auto took = wait(3ms); took == 3ms) lost += took;
  BOOST_TEST(lost.count() > (now - begin).count() / 200);  // it does try
  BOOST_TEST(lost.count() < (now - begin).count() / 80);
  const time_point gone = now;
  while (wait(2us) != 2us) BOOST_REQUIRE(now < gone + yield_account::longest_pause * yield_account::slice);
  for (int i = 0; i < 1000; ++i) BOOST_REQUIRE(wait(2us) == 2us);
}

// 16 ranks on 2 cores that all sleep need 350 us for a barrier, and so long lasts a yield among them.
BOOST_AUTO_TEST_CASE(ranks_that_sleep_are_no_other_program_to_one_that_yields) {
  BOOST_TEST(!yield_account(8).is_long(350us));
  BOOST_TEST(yield_account(8).is_long(700us));
  BOOST_TEST(yield_account(2).is_long(350us));
}

BOOST_AUTO_TEST_CASE(oversubscribed_ranks_and_virtual_clocks_spin_little_or_not_at_all) {
  fake_transport t("t");
  BOOST_TEST(waiting(wait_policy::automatic, 1, t.caps()).spins() > waiting(wait_policy::automatic, 2, t.caps()).spins());
  t.limits.virtual_clock = true;
  waiting w(wait_policy::automatic, 1, t.caps());
  BOOST_TEST(w.spins() == 0u);
  w.step(t, 0, [] { return true; }, never);
  BOOST_TEST(w.sleeps() == 1u);
}

// Nobody sleeps who has not armed: nothing would wake it, or the sleep would end at once and the wait would spin.
static_assert(!std::is_default_constructible_v<armed> && !std::is_constructible_v<armed, bool> && !std::is_copy_constructible_v<armed>);
static_assert(!std::is_invocable_v<decltype(&transport::sleep), transport&, time_point>);

BOOST_AUTO_TEST_CASE(waiting_for_operations_to_end_sleeps) {
  struct transport_that_sleeps final : fake_transport {
    using fake_transport::fake_transport;
    completion* done = nullptr;
    int slept = 0;
    void sleep(tutti::armed open, time_point) noexcept override {
      if (open && ++slept == 3) done->finish();
    }
  } t("t");
  completion done;
  t.done = &done;
  done.begin();
  wait_out(t, {&done});
  BOOST_TEST(t.slept == 3);
  BOOST_TEST(count(t, "progress") == 3u);
  wait_out(t, {&done});
  BOOST_TEST(count(t, "arm") == 3u);
}

// Who was stopped for as long as the bound has eight turns all the same; who had many turns has the clock's.
BOOST_AUTO_TEST_CASE(a_bound_of_own_time_leaves_turns_to_who_was_stopped) {
  const time_point begin{};
  own_time stopped{500ms, begin};
  for (unsigned turn = 1; turn < 8; ++turn) BOOST_TEST(!stopped.over(begin + turn * 1s));
  BOOST_TEST(stopped.over(begin + 8s));
  own_time busy{500ms, begin};
  for (unsigned turn = 1; turn < 500; ++turn) BOOST_REQUIRE(!busy.over(begin + turn * 1ms));
  BOOST_TEST(busy.over(begin + 500ms));
}
