// Memory of the user's own: copied by the kernel, its words changed by mails that the owner applies.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <vector>

#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const fabric_spec shm{"shm"};

struct words {
  alignas(64) std::array<std::uint64_t, 512> data{};
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span{data}); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_not_mapped_and_not_lost) {
  run_ranks(shm, 3, [](rank_env& env) {
    words mine;
    area a = env.add(mine.bytes());
    const rank_t next = (env.rank + 1) % env.size;
    require(env.net().map(a.segment, next) == nullptr, "user memory of another process has no address here");
    const std::uint64_t sent[2] = {env.rank + 100, env.rank + 200};
    env.run(put_signal(plain(sent), a.at(next, 8), 16, a.segment, 0, 1));
    env.wait_word(a.word(0), 1);
    const rank_t before = (env.rank + env.size - 1) % env.size;
    require_equal(mine.data[1], before + 100, "first word");
    require_equal(mine.data[2], before + 200, "second word");
    std::uint64_t back[2] = {};
    env.run(get(plain(back), a.at(next, 8), 16));
    require_equal(back[1], env.rank + 200, "what I put, got again");
    env.barrier();
  });
}

// A region is met by its first operation, on another path than by later ones.
BOOST_AUTO_TEST_CASE(the_first_operation_to_a_region_does_what_a_later_one_does) {
  run_ranks(shm, 2, [](rank_env& env) {
    const rank_t next = 1 - env.rank;
    const std::uint64_t sent = 7;
    std::uint64_t old = 9;
    for (const op_kind first : {op_kind::put, op_kind::signal, op_kind::put_signal, op_kind::fetch_add}) {
      area a = env.allocate(4096);
      completion done;
      rma_op op = put_signal(plain(&sent), a.at(next, 72), 8, a.segment, 136, 5, &done);
      if (first == op_kind::fetch_add) op = fetch_add(plain(&old), a.at(next, 200), 3, &done);
      op.kind = first;
      env.run(op);
      env.flush(next);
      env.barrier();
      const bool puts = first == op_kind::put || first == op_kind::put_signal;
      const bool signals = first == op_kind::signal || first == op_kind::put_signal;
      require_equal(load(a.word(0)), 0u, "the region's start");
      require_equal(load(a.word(72)), puts ? 7u : 0u, "payload");
      require_equal(load(a.word(136)), signals ? 5u : 0u, "signal");
      require_equal(load(a.word(200)), first == op_kind::fetch_add ? 3u : 0u, "atomic");
      env.barrier();
    }
    require_equal(old, 0u, "the old value");
  });
}

// More mails than there are places, from many at once: none lost, none twice, each rank's in their order.
BOOST_AUTO_TEST_CASE(signals_and_atomics_survive_contention) {
  constexpr std::uint64_t each = 20'000 / time_scale;
  run_ranks(shm, 5, [](rank_env& env) {
    words mine;
    area a = env.add(mine.bytes());
    completion done;
    std::array<std::uint64_t, 16> old{};
    if (env.rank != 0) {
      for (std::uint64_t i = 1; i <= each; ++i) {
        env.submit(signal(a.at(0, 8), 1, signal_how::add));
        env.submit(signal(a.at(0, 64 * env.rank), i));  // must only ever grow
        if (i % 16 == 0) {
          env.wait(done);
          for (auto& o : old) env.submit(fetch_add(plain(&o), a.at(0, 16), 1, &done));
        }
      }
      env.wait(done);
      env.flush(0);
    } else {
      std::array<std::uint64_t, 5> last{};
      env.until_arrival("all signals", [&] {
        for (rank_t r = 1; r < env.size; ++r) {
          const std::uint64_t now = load(a.word(64 * r));
          require(now >= last[r], "signals of one origin to one word take effect in order");
          last[r] = now;
        }
        return load(a.word(8)) == each * (env.size - 1);
      });
    }
    env.barrier();
    if (env.rank == 0) {
      require_equal(load(a.word(8)), each * (env.size - 1), "signals added");
      require_equal(load(a.word(16)), each / 16 * 16 * (env.size - 1), "atomics");
      for (rank_t r = 1; r < env.size; ++r) require_equal(load(a.word(64 * r)), each, "last signal");
    }
  }, {.timeout = 60s});
}

// A signal to mapped memory must not overtake the mails before it (order everything), nor may a later signal to the
// same mapped word overtake one that had to go by mail.
BOOST_AUTO_TEST_CASE(the_two_paths_keep_their_order) {
  constexpr std::uint64_t rounds = 20'000 / time_scale;
  run_ranks(shm, 2, [](rank_env& env) {
    words mine;
    area user = env.add(mine.bytes());
    area shared = env.allocate(4096);
    if (env.rank == 0) {
      for (std::uint64_t i = 1; i <= rounds; ++i) {
        env.submit(signal(user.at(1), i));
        env.submit(signal(shared.at(1), i, signal_how::set, not_before::everything));
        env.submit(signal(shared.at(1, 64), 2 * i));
        env.submit(signal(shared.at(1, 64), 2 * i + 1));
        if (i % 100 == 0) env.flush(1);
        if (i % 100 < 50) env.submit(signal(shared.at(1, 64), 2 * i + 1));  // with nothing by mail before it
      }
      env.flush();
    } else {
      std::uint64_t last = 0;
      env.until_arrival("all signals", [&] {
        const std::uint64_t late = load(shared.word(64));
        require(reached(late, last), "a word that is set in order never goes back");
        last = late;
        const std::uint64_t second = load(shared.word());
        const std::uint64_t first = load(user.word());
        require(first >= second, "a signal with order everything overtook an earlier one");
        return second == rounds && late == 2 * rounds + 1;
      });
    }
    env.barrier();
  }, {.timeout = 60s});
}

BOOST_AUTO_TEST_CASE(mails_to_a_region_that_was_dropped_change_nothing) {
  run_ranks(shm, 2, [](rank_env& env) {
    words first, second;
    area a = env.add(first.bytes());
    std::uint64_t old = 7;
    completion done;
    if (env.rank == 1) {
      for (int i = 0; i < 10; ++i) env.submit(signal(a.at(0), 1, signal_how::add));
      env.submit(fetch_add(plain(&old), a.at(0), 1, &done));
    }
    if (env.rank == 0) {
      // Its progress has not run since, so the mails wait; another region takes the place of the first.
      env.net().drop(a.region);
      (void)take(env.net().add(second.bytes()), "add");
    }
    if (env.rank == 1) env.wait(done);
    env.barrier();
    if (env.rank == 0) require_equal(load(second.data.data()), 0u, "the region that came later");
  });
}

// The kernel would copy to and from those addresses all the same.
BOOST_AUTO_TEST_CASE(the_key_of_what_was_dropped_reaches_nothing) {
  run_ranks(shm, 2, [](rank_env& env) {
    words mine;
    area a = env.add(mine.bytes());
    const rank_t next = 1 - env.rank;
    const std::uint64_t sent = 5;
    std::uint64_t back = 9;
    env.run(get(plain(&back), a.at(next), 8));
    require_equal(back, 0u, "before");
    env.barrier();
    env.net().drop(a.region);
    (void)take(env.net().add(mine.bytes()), "add");  // the same memory under another key
    env.barrier();
    for (const rma_op& op : {put(plain(&sent), a.at(next), 8), get(plain(&back), a.at(next), 8)}) {
      completion done;
      rma_op one = op;
      one.done = &done;
      env.submit(one);
      env.wait_idle(done);
      require(done.outcome().code() == errc::invalid && done.outcome().peer() == next, "a key of before");
    }
    env.barrier();
    require_equal(mine.data[0] + back, 0u, "what came of it");
  });
}

// The answer comes when the memory for it has been unmapped.
BOOST_AUTO_TEST_CASE(answers_into_a_region_that_was_dropped_land_nowhere) {
  run_ranks(shm, 2, [](rank_env& env) {
    words mine;
    area a = env.add(mine.bytes());
    area into = env.allocate(1 << 16), kept = env.allocate(64);
    completion done;
    if (env.rank == 1) {
      env.submit(fetch_add(into.mine(), a.at(0), 1, &done));
      env.submit(fetch_add(kept.mine(), a.at(0), 1, &done));
      env.drop(into);
      require(!done.idle(), "rank 0 answers only in its progress(), and has not been asked for any");
    }
    env.barrier();
    if (env.rank == 1) {
      env.wait(done);
      require_equal(load(kept.word()), 1u, "the answer to the other question");
    } else {
      env.wait_word(mine.data.data(), 2);
    }
    env.barrier();
  });
}

BOOST_AUTO_TEST_CASE(threads_of_one_process_reach_it_directly) {
  run_ranks(shm, 4, [](rank_env& env) {
    words mine;
    area a = env.add(mine.bytes());
    const rank_t next = (env.rank + 1) % env.size;
    require(env.net().map(a.segment, next) != nullptr, "a thread's memory has an address here");
    env.submit(signal(a.at(next), 5));
    require_equal(load(reinterpret_cast<std::uint64_t*>(env.net().map(a.segment, next))), 5u, "seen without progress");
    env.wait_word(a.word(), 5);
    env.barrier();
  }, {.threads = true});
}
