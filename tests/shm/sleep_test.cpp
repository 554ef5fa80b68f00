// No wake-up may be lost: every wait here ends by the other's ring alone. The provider looks again by itself only every
// 100 ms, so the number of turns and the harness's time limit together would show even a rare loss.
#include <poll.h>
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <functional>

#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const fabric_spec shm{"shm"};
constexpr int turns = 100'000 / time_scale;

// Sleeps until the word has the value; says how often it woke without it.
int sleep_for(rank_env& env, const std::uint64_t* word, std::uint64_t value) {
  int woken = 0;
  while (!reached(load(word), value)) {
    if (armed open = env.net().arm()) {
      if (!reached(load(word), value)) env.net().sleep(std::move(open), time_point::max()), ++woken;
      else env.net().disarm();
    }
    env.net().progress();
  }
  return woken;
}

void poll_for(rank_env& env, const std::uint64_t* word, std::uint64_t value) {
  while (!reached(load(word), value)) {
    if (env.net().arm_fd() && !reached(load(word), value)) {
      pollfd fd{env.net().wait_fd(), POLLIN, 0};
      require(::poll(&fd, 1, -1) == 1, "poll");
    }
    env.net().progress();
  }
}

void poll_until(rank_env& env, const std::function<bool()>& holds) {
  while (!holds()) {
    if (env.net().arm_fd() && !holds()) {
      pollfd fd{env.net().wait_fd(), POLLIN, 0};
      require(::poll(&fd, 1, -1) == 1, "poll");
    }
    env.net().progress();
  }
}

// Words that the target's progress changes: what wakes is the mail, and the word back that it took effect.
void mail_in_turns(rank_env& env, int n) {
  std::array<std::uint64_t, 8> mine{};
  const area a = env.add(std::as_writable_bytes(std::span{mine}));
  const rank_t other = 1 - env.rank;
  for (int i = 1; i <= n; ++i) {
    const auto value = static_cast<std::uint64_t>(i);
    const auto answer = [&] {
      env.submit(signal(a.at(other), value));
      completion flushed;
      require(env.net().flush(other, &flushed), "room for a flush");
      poll_until(env, [&] { return flushed.idle(); });
    };
    if (env.rank == 0) answer();
    poll_until(env, [&] { return reached(load(a.word()), value); });
    if (env.rank != 0) answer();
  }
}

template <class Wait>
void ring_in_turns(rank_env& env, int n, const Wait& wait) {
  area a = env.allocate(64);
  const rank_t other = 1 - env.rank;
  for (int i = 1; i <= n; ++i) {
    const auto value = static_cast<std::uint64_t>(i);
    if (env.rank == 0) {
      env.submit(signal(a.at(other), value));
      wait(env, a.word(), value);
    } else {
      wait(env, a.word(), value);
      env.submit(signal(a.at(other), value));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_processes_ring_each_other_out_of_every_sleep) {
  run_ranks(shm, 2, [](rank_env& env) { ring_in_turns(env, turns, sleep_for); }, {.timeout = 100s});
}

BOOST_AUTO_TEST_CASE(two_threads_ring_each_other_out_of_every_sleep) {
  run_ranks(shm, 2, [](rank_env& env) { ring_in_turns(env, turns / 4, sleep_for); }, {.timeout = 100s, .threads = true});
}

// The signaller pauses for ever longer, so that the signal meets every instant of the sleeper's going to sleep.
BOOST_AUTO_TEST_CASE(a_signal_at_any_instant_of_falling_asleep_wakes) {
  run_ranks(shm, 2, [](rank_env& env) {
    area a = env.allocate(64);
    for (int i = 1; i <= turns / 5; ++i) {
      const auto value = static_cast<std::uint64_t>(i);
      if (env.rank == 1) {
        sleep_for(env, a.word(), value);
        env.submit(signal(a.at(0), value));
      } else {
        while (!reached(load(a.word()), value - 1)) {}
        for (int spin = 0; spin < i % 2000; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
        env.submit(signal(a.at(1), value));
      }
    }
    if (env.rank == 0) while (!reached(load(a.word()), turns / 5)) {}
  }, {.timeout = 100s});
}

BOOST_AUTO_TEST_CASE(two_processes_ring_each_others_descriptor) {
  run_ranks(shm, 2, [](rank_env& env) { ring_in_turns(env, turns / 4, poll_for); }, {.timeout = 100s});
}

BOOST_AUTO_TEST_CASE(mails_and_their_effect_ring_descriptors) {
  run_ranks(shm, 2, [](rank_env& env) { mail_in_turns(env, turns / 4); }, {.timeout = 100s});
}

BOOST_AUTO_TEST_CASE(many_sleepers_are_all_woken_by_one_rank_and_wake_it) {
  run_ranks(shm, 6, [](rank_env& env) {
    area a = env.allocate(64);
    for (int i = 1; i <= turns / 20; ++i) {
      const auto value = static_cast<std::uint64_t>(i);
      if (env.rank == 0) {
        for (rank_t r = 1; r < env.size; ++r) env.submit(signal(a.at(r), value));
        sleep_for(env, a.word(), value * (env.size - 1));
      } else {
        sleep_for(env, a.word(), value);
        env.submit(signal(a.at(0), 1, signal_how::add));
      }
    }
  }, {.timeout = 100s});
}

// A ringer that has no descriptor left opens the sleeper's pipe when it has one again.
BOOST_AUTO_TEST_CASE(a_ring_that_had_no_descriptor_is_owed) {
  run_ranks(shm, 2, [](rank_env& env) {
    area a = env.allocate(64);
    if (env.rank == 1) {
      require(env.net().arm_fd(), "arm with nothing to do");
      env.barrier_without_progress();
      pollfd fd{env.net().wait_fd(), POLLIN, 0};
      require(::poll(&fd, 1, -1) == 1, "poll");
      require_equal(load(a.word()), 1u, "the word that rang");
      env.submit(signal(a.at(0), 1));
    } else {
      require(env.net().wait_fd() >= 0, "a descriptor of its own");
      env.submit(put(a.mine(8), a.at(1, 8), 8));  // maps the region
      env.barrier();
      rlimit usual{};
      require(::getrlimit(RLIMIT_NOFILE, &usual) == 0, "getrlimit");
      const rlimit none{0, usual.rlim_max};
      require(::setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
      env.submit(signal(a.at(1), 1));
      require(!env.net().arm_fd(), "to sleep would be to leave the other asleep");
      env.net().sleep(env.net().arm(), time_point::max());  // ends by itself
      require(::setrlimit(RLIMIT_NOFILE, &usual) == 0, "setrlimit");
      while (!reached(load(a.word()), 1)) env.net().progress();
    }
    env.barrier();
  });
}

BOOST_AUTO_TEST_CASE(a_sleep_ends_at_its_deadline) {
  run_ranks(shm, 1, [](rank_env& env) {
    for (const auto length : {0ms, 1ms, 150ms, 250ms}) {
      armed open = env.net().arm();
      require(static_cast<bool>(open), "arm with nothing to do");
      const auto before = env.net().now();
      env.net().sleep(std::move(open), before + length);
      require(env.net().now() - before >= length, "a sleep that nothing interrupts lasts until its deadline");
    }
  });
}
