// A peer that dies, at any moment, ends sleeps and operations, and blocks nobody.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/transport/two_sided.h"
#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const fabric_spec shm{"shm"};

bool is_dead(rank_env& env, rank_t r) { return env.net().health(r).code() == errc::peer_dead; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_sleep_without_deadline_ends_when_a_peer_is_killed) {
  run_ranks(shm, 4, [](rank_env& env) {
    env.allocate(64);
    env.barrier();
    if (env.rank == 2) {
      usleep(50'000);
      raise(SIGKILL);
    }
    while (!is_dead(env, 2)) {
      env.net().sleep(env.net().arm(), time_point::max());
      env.net().progress();
    }
    require_equal(env.net().health(2).peer(), 2u, "who died");
    require(env.net().health(2).native() != peer_left, "it did not leave in order");
    require(env.net().health((env.rank + 1) % 2).ok(), "the others live");
  }, {.to_die = {2}});
}

BOOST_AUTO_TEST_CASE(wait_fd_becomes_readable_when_a_peer_is_killed_and_only_then) {
  run_ranks(shm, 2, [](rank_env& env) {
    env.barrier();
    if (env.rank == 1) {
      usleep(50'000);
      raise(SIGKILL);
    }
    require(env.net().arm_fd(), "arm");
    pollfd fd{env.net().wait_fd(), POLLIN, 0};
    require(::poll(&fd, 1, -1) == 1, "poll");
    require(is_dead(env, 1), "why it woke");
    env.net().disarm();
    require(env.net().arm_fd(), "arm again");
    require(::poll(&fd, 1, 20) == 0, "a death that is known does not wake again");
  }, {.to_die = {1}});
}

// Killed while it mails as fast as it can: with luck between claim and publication of a place.
BOOST_AUTO_TEST_CASE(a_writer_killed_in_the_middle_does_not_block_the_mailbox) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    run_ranks(shm, 3, [](rank_env& env) {
      alignas(64) std::array<std::uint64_t, 8> mine{};
      area a = env.add(std::as_writable_bytes(std::span{mine}));
      if (env.rank == 1) {
        const auto end = env.net().now() + std::chrono::microseconds{env.random() % 3000};
        for (;;) {
          for (int i = 0; i < 50; ++i) {
            const rma_op op = signal(a.at(0, 8), 1, signal_how::add);
            (void)env.net().submit({&op, 1});
          }
          if (env.net().now() > end) raise(SIGKILL);
        }
      }
      if (env.rank == 2) {
        for (int i = 0; i < 2000; ++i) env.submit(signal(a.at(0), 1, signal_how::add));
        env.flush(0);
      }
      if (env.rank == 0) env.wait_word(a.word(), 2000);
      env.barrier();
      env.drop(a);  // what the dead rank mailed last may still wait, and must find no memory that is gone
    }, {.seed = seed, .to_die = {1}});
}

// Killed by its own payload, whose memory cannot be read: behind the claim of a cell and before its publication.
BOOST_AUTO_TEST_CASE(a_sender_that_dies_in_the_middle_of_a_message_does_not_block_its_target) {
  for (const bool death_is_known : {false, true})
    run_ranks(shm, 3, [death_is_known](rank_env& env) {
      constexpr std::uint64_t count = 500;
      two_sided& calls = *env.net().sendrecv();
      env.barrier();
      if (env.rank == 1) {
        ::signal(SIGSEGV, [](int) { ::kill(::getpid(), SIGKILL); });
        for (int i = 0; i < 3; ++i) require(calls.send(0, {}, {}), "three messages");
        void* const nothing = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void)calls.send(0, {}, {static_cast<const std::byte*>(nothing), 4096 - 128});
        fail("a payload that cannot be read was sent");
      }
      const auto await_the_death = [&] {
        while (!env.place().is_gone(1)) usleep(100);
      };
      if (env.rank == 2) {
        await_the_death();
        for (std::uint64_t n = 0; n < count; ++n)
          env.until("room for a message", [&] { return calls.send(0, std::as_bytes(std::span{&n, 1}), {}); });
      }
      if (env.rank == 0) {
        if (death_is_known) await_the_death(), (void)is_dead(env, 1);
        std::uint64_t next = 0, of_the_dead = 0;
        env.until_arrival("what the others sent", [&] {
          for (two_sided::message m; calls.receive(m);) {
            if (m.from == 1) {
              ++of_the_dead;
              continue;
            }
            std::uint64_t n = 0;
            std::memcpy(&n, m.header.data(), sizeof n);
            require_equal(n, next++, "the order of who lives");
          }
          return next == count;
        });
        require_equal(of_the_dead, 3u, "what the dead had sent before");
      }
      env.barrier();
    }, {.to_die = {1}});
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_dead_peer_ends_with_its_name) {
  run_ranks(shm, 2, [](rank_env& env) {
    alignas(64) std::array<std::uint64_t, 8> mine{};
    area a = env.add(std::as_writable_bytes(std::span{mine}));
    if (env.rank == 1) raise(SIGKILL);
    std::uint64_t old = 0;
    completion asked, flushed;
    const rma_op op = fetch_add(plain(&old), a.at(1), 1, &asked);
    require_equal(env.net().submit({&op, 1}), 1u, "taken");
    require(env.net().flush(1, &flushed), "flush");
    env.wait_idle(asked);
    env.wait_idle(flushed);
    require(asked.outcome().code() == errc::peer_dead && asked.outcome().peer() == 1, "the atomic's outcome");
    require(flushed.outcome().code() == errc::peer_dead, "the flush's outcome");
    // And whatever is submitted later, with or without a completion.
    completion later;
    env.submit(put(plain(&old), a.at(1), 8, &later));
    require(later.idle() && later.outcome().code() == errc::peer_dead, "a put afterwards");
    env.submit(signal(a.at(1), 1));
    completion flushed_again;
    require(env.net().flush(1, &flushed_again), "flush");
    require(flushed_again.outcome().code() == errc::peer_dead, "reported at the flush");
  }, {.to_die = {1}});
}

BOOST_AUTO_TEST_CASE(an_orderly_leave_is_told_from_a_death) {
  for (const bool threads : {false, true})
    run_ranks(shm, 3, [](rank_env& env) {
      env.barrier();
      if (env.rank == 1) {
        env.close();
        return;
      }
      while (!is_dead(env, 1)) {
        env.net().sleep(env.net().arm(), time_point::max());
        env.net().progress();
      }
      require(env.net().health(1).native() == peer_left, "left");
    }, {.threads = threads});
}

// A pidfd and a look into /proc both need a descriptor. Without one a living peer is not taken for dead, nor a dead one for
// alive.
BOOST_AUTO_TEST_CASE(without_a_descriptor_the_living_live_and_the_dead_are_dead) {
  run_ranks(shm, 3, [](rank_env& env) {
    env.barrier();
    const rlimit few{64, 64};
    require(::setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
    std::vector<int> all;
    for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) all.push_back(fd);
    require_equal(errno, EMFILE, "why no more can be opened");
    for (rank_t r = 0; r < env.size; ++r) require(env.net().health(r), "health of a rank that lives");
    env.pause(250ms * time_scale);
    for (rank_t r = 0; r < env.size; ++r) require(env.net().health(r), "health of a rank that lives, later");
    env.barrier();
    if (env.rank == 1) raise(SIGKILL);
    const auto end = env.net().now() + 1s * time_scale;
    while (!is_dead(env, 1)) require(env.net().now() < end, "a death is told within a second");
    require_equal(env.net().health(1).peer(), 1u, "who died");
    require(env.net().health(1).native() != peer_left, "it did not leave in order");
    require(env.net().health(2 - env.rank), "health of a rank that lives on");
    for (const int fd : all) ::close(fd);
  }, {.to_die = {1}});
}

// A rank that has become another user may not map its peers' memory any more. Whoever waits for what it sent is to be told.
BOOST_AUTO_TEST_CASE(health_tells_of_a_peer_whose_memory_may_not_be_opened) {
  run_ranks(shm, 2, [](rank_env& env) {
    const area a = env.allocate(64);
    const bool privileged = ::geteuid() == 0;
    if (privileged && env.rank == 1) require(::setresuid(65534, 65534, 65534) == 0, "setresuid");
    if (!privileged && env.rank == 0) require(::prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
    env.barrier();
    if (env.rank == 1) {
      env.submit(signal(a.at(0), 1));
      const status told = env.net().health(0);
      require(told.code() == errc::unavailable && told.peer() == 0, "health after a signal that was lost");
      completion flushed;
      require(env.net().flush(0, &flushed), "flush");
      require(flushed.outcome().code() == errc::unavailable, "the flush's outcome");
      require(env.net().health(0), "health after the flush");
      require(!env.net().sendrecv()->send(0, {}, {}), "a message cannot be sent");
      require(env.net().health(0).code() == errc::unavailable, "health after a message that could not be sent");
    }
    env.barrier();
  });
}

// As daemons do, which take from 3 on whatever they inherited. A descriptor that watched a peer is none any more, then another's.
BOOST_AUTO_TEST_CASE(who_closes_its_descriptors_is_not_dead) {
  run_ranks(shm, 3, [](rank_env& env) {
    const area seen = env.allocate(64), unseen = env.allocate(1 << 20);  // the latter is a file
    for (rank_t r = 0; r < env.size; ++r) {
      env.submit(signal(seen.at(r, 8 * env.rank), 1));
      require(env.net().health(r), "health before");
    }
    env.barrier();
    if (env.rank == 1) require(::close_range(3, 1023, 0) == 0, "close_range");
    for (int i = 0; env.rank == 1 && i < 20; ++i) (void)!::dup(STDERR_FILENO);
    env.barrier();
    for (rank_t r = 0; r < env.size; ++r) require(env.net().health(r), "health of a rank that lives");
    env.submit(signal(seen.at((env.rank + 1) % env.size, 24), 1));
    env.wait_word(seen.word(24), 1);
    env.barrier();
    if (env.rank != 1) {
      completion done;
      const std::uint64_t value = 1;
      env.submit(put(plain(&value), unseen.at(1), 8, &done));
      require(done.idle() && done.outcome().code() == errc::unavailable, "a put into memory that nobody finds");
      require(std::string_view(done.outcome().text()).find("closed the descriptors") != std::string_view::npos, done.outcome().text());
      require(!env.net().sendrecv()->send(1, {}, {}), "a message that cannot be sent");
      require(env.net().health(1).code() == errc::unavailable, "health after that");
    }
    env.barrier();
    if (env.rank == 1) raise(SIGKILL);
    const auto end = env.net().now() + 1s * time_scale;
    while (!is_dead(env, 1)) require(env.net().now() < end, "a death is told within a second");
  }, {.to_die = {1}});
}
