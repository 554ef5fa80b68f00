// Clause 9: what arrives after arm() ends the sleep. A lost wake-up would sleep until the time limit and be found.
#include <poll.h>

#include <array>

#include "tests/conformance/clause.h"
#include "tests/conformance/patterns.h"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

void require_sleep(rank_env& e) {
  if (!e.net().caps().can_sleep) skip("it cannot sleep");
}

time_point much_later(rank_env& e) { return e.net().now() + std::chrono::hours{1}; }

// Sleeps at once and for as long as it takes: no spinning that would find the word by itself.
template <class Holds>
void sleep_until(rank_env& e, std::string_view what, Holds holds) {
  const waiting_for w(e.place(), e.rank, std::string{what} + ", asleep");
  while (!holds()) {
    armed open = e.net().arm();
    if (!open) {
      e.net().progress();
      continue;
    }
    if (holds()) return e.net().disarm();
    e.net().sleep(std::move(open), much_later(e));
    e.net().progress();
  }
}

// The same through the descriptor.
template <class Holds>
void poll_until(rank_env& e, std::string_view what, Holds holds) {
  const waiting_for w(e.place(), e.rank, std::string{what} + ", in poll()");
  pollfd p{e.net().wait_fd(), POLLIN, 0};
  while (!holds()) {
    if (!e.net().arm_fd()) {
      e.net().progress();
      continue;
    }
    if (holds()) return e.net().disarm();
    poll(&p, 1, -1);
    e.net().progress();
  }
}

// Busy for a random while, so that the arrival falls before, between and after the peer's arm() and sleep().
void dawdle(rank_env& e) {
  if (e.net().caps().virtual_clock) return e.pause(std::chrono::nanoseconds{e.random() % 3000});
  const std::uint64_t turns = e.random() % 4 ? e.random() % 200 : e.random() % 20'000;
  for (volatile std::uint64_t n = 0; n < turns;) n = n + 1;
}

template <class Wait>
void ping_pong(rank_env& e, int rounds, Wait wait) {
  const area a = e.allocate(128), out = e.allocate(64);
  const rank_t peer = e.rank ^ 1;
  completion done;
  for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(rounds); ++i) {
    dawdle(e);
    if (e.rank % 2) wait(e, "a ping", [&] { return reached(load(a.word()), i); });
    switch (i % 4) {
      case 0: e.submit(signal(a.at(peer), i, signal_how::set, not_before::everything)); break;
      case 1: e.submit(put_signal(out.mine(), a.at(peer, 64), 16, a.segment, 0, i)); break;
      case 2: e.submit(signal(a.at(peer), 1, signal_how::add)); break;
      default: e.submit(fetch_add(out.mine(32), a.at(peer), 1, &done)); break;
    }
    if (e.rank % 2 == 0) wait(e, "a pong", [&] { return reached(load(a.word()), i); });
  }
  e.wait(done);
}

void no_wakeup_is_lost(rank_env& e) {
  require_sleep(e);
  ping_pong(e, 3000 / time_scale, [](auto& me, auto what, auto holds) { sleep_until(me, what, holds); });
}

void no_wakeup_of_the_descriptor_is_lost(rank_env& e) {
  require_sleep(e);
  e.allocate(64);
  if (e.net().wait_fd() < 0) skip("no descriptor to wait on");
  ping_pong(e, 2000 / time_scale, [](auto& me, auto what, auto holds) { poll_until(me, what, holds); });
}

// One rank sleeps, all others signal it at random times; it must see every one.
void many_wake_one(rank_env& e) {
  require_sleep(e);
  const area a = e.allocate(64 * e.size);
  const std::uint64_t rounds = 400 / time_scale;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    dawdle(e);
    if (e.rank != 0) {
      e.submit(signal(a.at(0, 64 * e.rank), i));
      sleep_until(e, "the answer", [&] { return reached(load(a.word()), i); });
    } else {
      sleep_until(e, "everyone", [&] {
        for (rank_t r = 1; r < e.size; ++r)
          if (!reached(load(a.word(64 * r)), i)) return false;
        return true;
      });
      for (rank_t r = 1; r < e.size; ++r) e.submit(signal(a.at(r), i));
    }
  }
}

// Not by what arrives from others, but by the end of what was asked for here.
void own_completions_end_a_sleep(rank_env& e) {
  require_sleep(e);
  const area a = e.allocate(1 << 20), out = e.allocate(1 << 20);
  for (int i = 0; i < 30; ++i) {
    completion done;
    const std::uint32_t bytes = i % 2 ? 1 << 20 : 64;
    e.submit(i % 3 ? get(out.mine(), a.at(right_of(e)), bytes, &done) : put(out.mine(), a.at(right_of(e)), bytes, &done));
    sleep_until(e, "an operation of its own", [&] { return done.idle(); });
    require(done.outcome(), "an operation slept upon");
    completion flushed;
    e.until("room for a flush", [&] { return e.net().flush(no_rank, &flushed); });
    sleep_until(e, "a flush of its own", [&] { return flushed.idle(); });
  }
}

// A rank that only sleeps serves its peers' gets where those need its progress.
void a_sleeping_rank_serves_its_peers(rank_env& e) {
  require_sleep(e);
  const area a = e.allocate(1 << 19), out = e.allocate(1 << 19);
  fill(a.memory.subspan(64), e.rank);
  e.barrier();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    if (e.rank == 0) {
      e.pause(std::chrono::microseconds{e.random() % 500});
      e.run(get(out.mine(), a.at(1, 64), 300'000));
      check(out.memory.subspan(0, 300'000), 1, "what was got from a rank that sleeps");
      e.submit(signal(a.at(1), i));
    } else {
      sleep_until(e, "a signal that follows a get", [&] { return reached(load(a.word()), i); });
    }
  }
}

void deadlines_end_a_sleep(rank_env& e) {
  constexpr auto limit = 2s * time_scale;  // of a rank that waits for a core, too
  e.allocate(64);
  for (int i = 0; i < 20; ++i) {
    const time_point end = e.net().now() + (i % 2 ? 2ms : 0ms);
    e.net().sleep(e.net().arm(), end);
    require(e.net().now() < end + limit, "a sleep goes on after its deadline");
    e.net().progress();
    const time_point begin = e.net().now();
    e.net().sleep(e.net().arm(), begin - 1s);
    require(e.net().now() < begin + limit, "a sleep whose deadline is past lasts");
  }
}

// Waking early is allowed, never coming to rest is not what a sleep is for.
void an_idle_rank_comes_to_rest(rank_env& e) {
  require_sleep(e);
  const area a = e.allocate(64);
  e.submit(signal(a.at(right_of(e)), 1));
  e.wait_word(a.word(), 1);
  e.flush();
  e.barrier();
  bool rested = false;
  for (int i = 0; i < 200 && !rested; ++i) {
    armed open = e.net().arm();
    if (!open) {
      e.net().progress();
      continue;
    }
    const time_point end = e.net().now() + 2ms;
    e.net().sleep(std::move(open), end);
    rested = e.net().now() >= end;
    e.net().progress();
  }
  require(rested, "200 sleeps in a row ended early though nothing arrived");
}

void arm_and_disarm_again_and_again(rank_env& e) {
  require_sleep(e);
  const area a = e.allocate(64);
  for (std::uint64_t i = 1; i <= 100; ++i) {
    for (std::uint64_t k = 0; k < i % 5; ++k) {
      if (!(k % 2 && e.net().wait_fd() >= 0 ? e.net().arm_fd() : static_cast<bool>(e.net().arm()))) e.net().progress();
      else if (k % 3) e.net().disarm();
      else e.net().progress();
    }
    e.net().disarm();
    e.submit(signal(a.at(right_of(e)), i));
    sleep_until(e, "a signal after disarm()", [&] { return reached(load(a.word()), i); });
  }
}

// A token whose sleep was closed meanwhile is worth nothing, and one token is worth one sleep: whoever waits then would wait
// for what can no longer wake it.
void a_closed_sleep_ends_at_once(rank_env& e) {
  require_sleep(e);
  e.allocate(64);
  const waiting_for w(e.place(), e.rank, "the end of a sleep that is closed");
  for (int i = 0; i < 30; ++i) {
    armed open = e.net().arm();
    if (i % 3 == 0) e.net().progress();
    else if (i % 3 == 1) e.net().disarm();
    else e.net().sleep(std::move(open), e.net().now() + 100us);
    e.net().sleep(std::move(open), much_later(e));
  }
}

constexpr std::array cases{
    conformance_case{"no_wakeup_is_lost", 2, no_wakeup_is_lost},
    conformance_case{"no_wakeup_is_lost_among_more_ranks_than_cores", 6, no_wakeup_is_lost},
    conformance_case{"no_wakeup_of_the_descriptor_is_lost", 2, no_wakeup_of_the_descriptor_is_lost},
    conformance_case{"many_wake_one", 4, many_wake_one},
    conformance_case{"own_completions_end_a_sleep", 2, own_completions_end_a_sleep},
    conformance_case{"a_sleeping_rank_serves_its_peers", 2, a_sleeping_rank_serves_its_peers},
    conformance_case{"deadlines_end_a_sleep", 2, deadlines_end_a_sleep},
    conformance_case{"an_idle_rank_comes_to_rest", 2, an_idle_rank_comes_to_rest},
    conformance_case{"a_closed_sleep_ends_at_once", 2, a_closed_sleep_ends_at_once},
    conformance_case{"arm_and_disarm_again_and_again", 3, arm_and_disarm_again_and_again},
};

}  // namespace

clause sleep_clause() { return {"sleep", cases}; }

}  // namespace tutti::test
