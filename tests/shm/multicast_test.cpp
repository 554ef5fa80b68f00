// Datagrams in a ring that nobody guards: lost when a receiver is slow or a sender dies, never mangled, never stuck.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/transport/multicast.h"
#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const fabric_spec shm{"shm"};

multicast::group_id meet(rank_env& env) {
  const rank_map all = rank_map::strided(0, env.size);
  multicast& m = *env.net().mcast();
  std::vector<std::byte> token;
  multicast::group_id id{};
  if (env.rank == 0) id = take(m.create(all, token, time_point::max()), "create");
  const auto tokens = env.exchange(token);
  if (env.rank != 0) id = take(m.join(all, (*tokens)[0], time_point::max()), "join");
  env.barrier();
  return id;
}

// A payload whose every word follows from sender and number, so that a mixture of two shows.
std::vector<std::uint64_t> pattern(rank_t from, std::uint32_t tag, std::size_t words) {
  std::vector<std::uint64_t> p(words);
  for (std::size_t i = 0; i < words; ++i) p[i] = (std::uint64_t{from} << 48) ^ (std::uint64_t{tag} << 8) ^ i;
  return p;
}

void check(const multicast::datagram& d) {
  require(d.payload.size() % 8 == 0 && d.payload.size() >= 8, "length");
  const auto wanted = pattern(d.from, d.tag, d.payload.size() / 8);
  require(std::memcmp(wanted.data(), d.payload.data(), d.payload.size()) == 0, "a datagram is mangled");
}

void send(rank_env& env, multicast::group_id g, std::uint32_t tag, std::size_t words) {
  const auto p = pattern(env.rank, tag, words);
  while (!env.net().mcast()->send(g, tag, std::as_bytes(std::span{p}))) env.net().progress();
}

}  // namespace

// Everyone sends as fast as it can and receives a little: the ring is overwritten all the time, under the readers too.
BOOST_AUTO_TEST_CASE(overwritten_datagrams_are_lost_and_never_mangled) {
  run_ranks(shm, 4, [](rank_env& env) {
    const auto g = meet(env);
    const std::size_t most = env.net().mcast()->query().max_payload / 8;
    std::uint64_t received = 0;
    std::vector<std::uint32_t> last(env.size, 0);
    for (std::uint32_t i = 1; i <= 30'000u / time_scale; ++i) {
      send(env, g, i, 1 + env.random() % most);
      multicast::datagram d;
      for (int k = 0; k < 3 && env.net().mcast()->receive(g, d); ++k) {
        require(d.from != env.rank, "its own datagram");
        require(d.from < env.size, "an outsider's");
        require(d.tag > last[d.from], "this ring keeps the order of a sender and repeats nothing");
        last[d.from] = d.tag;
        check(d);
        ++received;
      }
    }
    require(env.sum(received) > 0, "something came through");
  }, {.timeout = 60s});
}

BOOST_AUTO_TEST_CASE(a_receiver_that_keeps_up_loses_nothing) {
  run_ranks(shm, 3, [](rank_env& env) {
    const auto g = meet(env);
    area a = env.allocate(64);
    for (std::uint32_t i = 1; i <= 2000; ++i) {
      if (env.rank == i % env.size) {
        send(env, g, i, 4);
        env.wait_word(a.word(), std::uint64_t{i} * (env.size - 1));
      } else {
        multicast::datagram d;
        env.until_arrival("a datagram", [&] { return env.net().mcast()->receive(g, d); });
        require_equal(d.tag, i, "tag");
        check(d);
        for (rank_t r = 0; r < env.size; ++r) env.submit(signal(a.at(r), 1, signal_how::add));
      }
      env.wait_word(a.word(), std::uint64_t{i} * (env.size - 1));
    }
  }, {.timeout = 60s});
}

// A root that waits for its members does not receive: its own datagram must not keep it from sleeping.
BOOST_AUTO_TEST_CASE(a_datagram_that_nobody_fetches_keeps_nobody_awake_for_long) {
  run_ranks(shm, 2, [](rank_env& env) {
    const auto g = meet(env);
    send(env, g, 1, 4);
    env.barrier();
    int refusals = 0;
    while (!env.net().arm()) env.net().progress(), require(++refusals < 4, "cannot sleep");
    env.net().disarm();
    multicast::datagram d;
    require(env.net().mcast()->receive(g, d) && d.from == 1 - env.rank, "it is still there");
  });
}

// Killed while it sends, with luck between the position it took and the datagram in it.
BOOST_AUTO_TEST_CASE(a_sender_killed_in_the_middle_holds_up_nobody) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    run_ranks(shm, 3, [](rank_env& env) {
      const auto g = meet(env);
      if (env.rank == 1) {
        const auto end = env.net().now() + std::chrono::microseconds{env.random() % 3000};
        for (std::uint32_t i = 1;; ++i) {
          send(env, g, i, 200);
          if (env.net().now() > end) raise(SIGKILL);
        }
      }
      while (env.net().health(1).ok()) env.net().progress();
      env.barrier();
      const rank_t other = 2 - env.rank;
      // What is sent now arrives, beyond whatever the dead rank has left.
      area a = env.allocate(64, rank_map::strided(0, 2, 2));
      for (std::uint32_t i = 1; i <= 100; ++i) {
        if (env.rank == 0) {
          send(env, g, i, 4);
          env.wait_word(a.word(), i);
        } else {
          multicast::datagram d{};
          env.until("a datagram", [&] {
            while (env.net().mcast()->receive(g, d)) {
              check(d);
              if (d.from == 0 && d.tag == i) return true;
            }
            return false;
          });
          env.submit(signal(a.at(other), i));
        }
      }
    }, {.seed = seed, .to_die = {1}});
}
