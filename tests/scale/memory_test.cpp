// Windows that fit alone and not together are refused before any is taken; and what many teams hold.
#include <sys/resource.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "core/base/memory_room.h"
#include "core/job/slot_pool.h"
#include "core/job/window.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Should the refusal fail, the memory must not be filled all the same.
void never_fill() {
  signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 26, 1 << 26};
  require(::setrlimit(RLIMIT_FSIZE, &small) == 0, "setrlimit");
}

// Bytes in memory, of which what several processes map counts in each by its share.
std::size_t share_of_memory() {
  std::ifstream told("/proc/self/smaps_rollup");
  for (std::string line; std::getline(told, line);)
    if (line.starts_with("Pss:")) return std::stoul(line.substr(4)) << 10;
  skip("the kernel does not tell what is in memory");
}

// Each collective with the same bytes of each block, whose sums and places are checked.
void move_words(communicator& c, std::uint64_t words, std::uint64_t salt) {
  const std::uint64_t n = c.group().size(), me = c.group().index(), bytes = 8 * words;
  const auto call = [&](collective of, const std::vector<std::uint64_t>& in, std::vector<std::uint64_t>& out, auto expected) {
    collective_call one{.of = of, .root = static_cast<std::uint32_t>(salt % n), .bytes = bytes,
                        .in = reinterpret_cast<const std::byte*>(in.data()), .out = reinterpret_cast<std::byte*>(out.data())};
    if (reduces(of)) one.op = take(find_reduction(datatype::uint64, operation::sum), "sum");
    require(c.run(one), name_of(of).data());
    for (std::uint64_t i = 0; i < out.size(); ++i) require_equal(out[i], expected(i), name_of(of).data());
  };
  std::vector<std::uint64_t> block(words, salt + me), sum(words), all(n * words), from_all(n * words);
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = salt + me * n + i / words;
  call(collective::allreduce, block, sum, [&](std::uint64_t) { return n * salt + n * (n - 1) / 2; });
  call(collective::allgather, block, from_all, [&](std::uint64_t i) { return salt + i / words; });
  call(collective::alltoall, all, from_all, [&](std::uint64_t i) { return salt + i / words * n + me; });
  std::vector<std::uint64_t> one(words, me == salt % n ? salt : 0);
  call(collective::broadcast, {}, one, [&](std::uint64_t) { return salt; });
}

}  // namespace

// Of two ranks, each has a core of its own, where more memory for long calls pays than where cores are shared.
BOOST_AUTO_TEST_CASE(a_team_that_moved_little_holds_little) {
  for (const std::uint32_t ranks : {2, 4})
    run_ranks({"shm"}, ranks, [](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      constexpr std::size_t teams = 24, most = 64 << 10;
      move_words(*world, 1, 3);
      const rlimit few{64, 64};  // files: a team needs none of its own
      require(::setrlimit(RLIMIT_NOFILE, &few) == 0, "setrlimit");
      std::vector<std::unique_ptr<communicator>> made;
      std::vector<std::unique_ptr<window>> windows;
      env.barrier();
      const std::size_t before = share_of_memory();
      env.barrier();
      for (std::size_t i = 0; i < teams; ++i) {
        made.push_back(take(world->split(0, 0, {}), "split"));
        move_words(*made.back(), 1, i);
        windows.push_back(take(window::open(made.back()->group(), {.bytes = 64}), "window"));
      }
      env.barrier();
      const std::size_t grown = share_of_memory() - before;
      require(grown <= teams * most, std::to_string(grown / teams) + " bytes are in memory for each team");
      // Longer calls, and many, get more.
      for (const std::uint64_t words : {7, 16, 64, 100, 20'000, 1, 40}) move_words(*made.front(), words, words);
      for (std::uint64_t i = 0; i < 1100 && env.size == 2; ++i) move_words(*made.back(), 24, i);
      for (auto& w : windows) require(w->close(), "close");
      windows.clear();
      for (auto& team : made) require(team->group().settle(), "leaving");
      env.barrier();
    });
}

// Each team has its long calls once, then goes idle.
BOOST_AUTO_TEST_CASE(long_slots_of_idle_teams_are_given_back) {
  for (const std::uint32_t ranks : {2, 4})
    run_ranks({"shm"}, ranks, [](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      constexpr std::size_t teams = 10, of_one = 20 << 20, small = 64 << 10;
      std::vector<std::unique_ptr<communicator>> made;
      for (std::size_t i = 0; i < teams; ++i) made.push_back(take(world->split(0, 0, {}), "split"));
      env.barrier();
      const std::size_t before = share_of_memory();
      env.barrier();
      for (std::size_t i = 0; i < teams; ++i) move_words(*made[i], 20'000, i);
      env.barrier();
      const std::size_t grown = share_of_memory() - before, most = j->slots().most + of_one + teams * small;
      require(grown <= most, std::to_string(grown >> 20) + " MiB are in memory of " + std::to_string(most >> 20));
      for (const std::uint64_t words : {1, 20'000, 300})
        for (auto& team : made) move_words(*team, words, words);
      for (auto& team : made) require(team->group().settle(), "leaving");
      env.barrier();
    });
}

// All that is idle goes whenever something is made: teams that overlap, calls that wait for nobody, members that are far behind others.
BOOST_AUTO_TEST_CASE(slots_go_while_others_are_in_use) {
  constexpr std::uint32_t ranks = 4;
  std::uint64_t seed = std::random_device{}();
  if (const std::string given = argument("--seed"); !given.empty()) seed = std::stoull(given);
  BOOST_TEST_MESSAGE("--seed " << seed);
  run_ranks({"shm"}, ranks, [&](rank_env& env) {
    auto j = open_job(env);
    j->slots().most = 0;
    auto world = take(communicator::world(*j, {}), "world");
    const auto mine = [&](std::uint32_t a, std::uint32_t b) { return env.rank == a || env.rank == b ? 0 : -1; };
    std::vector<std::unique_ptr<communicator>> made;
    for (int i = 0; i < 3; ++i) made.push_back(take(world->split(0, 0, {}), "all"));
    for (int i = 0; i < 2; ++i) made.push_back(take(world->split(env.rank % 2 ? 1 : 0, 0, {}), "halves"));
    for (std::uint32_t r = 0; r < ranks; ++r) made.push_back(take(world->split(mine(r, (r + 1) % ranks), 0, {}), "pair"));
    struct begun {
      std::uint64_t request;
      std::vector<std::uint64_t> in, out;
      std::uint64_t expected;
    };
    std::vector<std::vector<begun>> under_way(made.size());
    std::mt19937_64 order(seed);  // alike in all ranks
    const auto end = [&](std::size_t team) {
      for (const begun& b : under_way[team]) {
        require(made[team]->data().wait(b.request), "waiting");
        for (const std::uint64_t got : b.out) require_equal(got, b.expected, "a sum");
      }
      under_way[team].clear();
    };
    for (std::uint64_t i = 0; i < 400; ++i) {
      const std::size_t at = order() % made.size();
      const std::uint64_t words = std::array{1, 40, 3000, 30'000}[order() % 4], what = order() % 5;
      if (!made[at]) continue;
      communicator& c = *made[at];
      if (what == 0) end(at), move_words(c, words, i);
      else if (what == 1) end(at);
      else if (what == 2) {  // the root may be far ahead
        const std::uint64_t n = c.group().size(), root = i % n;
        std::vector<std::uint64_t> one(words, c.group().index() == root ? i : 0);
        end(at);
        require(c.broadcast(static_cast<std::uint32_t>(root), std::as_writable_bytes(std::span{one})), "broadcast");
        for (const std::uint64_t got : one) require_equal(got, i, "broadcast");
      } else if (what == 3) {  // only two have a part
        const std::uint64_t n = c.group().size(), me = c.group().index(), from = i % n, to = (i + 1) % n;
        block_lists l;
        for (auto* const list : {&l.in_lengths, &l.in_begins, &l.out_lengths, &l.out_begins}) list->resize(n);
        if (me == from) l.in_lengths[to] = 8 * words;
        if (me == to) l.out_lengths[from] = 8 * words;
        std::vector<std::uint64_t> in(words, i), out(words);
        end(at);
        require(c.run({.of = collective::alltoallv, .bytes = me == from || me == to ? 8 * words : 0, .in = reinterpret_cast<const std::byte*>(in.data()),
                       .out = reinterpret_cast<std::byte*>(out.data()), .lists = std::make_shared<block_lists>(std::move(l))}), "alltoallv");
        for (const std::uint64_t got : out) require_equal(got, me == to ? i : 0, "alltoallv");
      } else {
        const std::uint64_t n = c.group().size();
        begun b{0, std::vector<std::uint64_t>(words, i + c.group().index()), std::vector<std::uint64_t>(words), n * i + n * (n - 1) / 2};
        collective_call one{.of = collective::allreduce, .bytes = 8 * words, .in = reinterpret_cast<const std::byte*>(b.in.data()),
                            .out = reinterpret_cast<std::byte*>(b.out.data())};
        one.op = take(find_reduction(datatype::uint64, operation::sum), "sum");
        b.request = take(c.start(one), "starting");
        under_way[at].push_back(std::move(b));
      }
    }
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i]) end(i), require(made[i]->group().settle(), "leaving");
    env.barrier();
  });
}

// The gate by itself: members come and go as they like, and each that finds the memory gone has had as many uses as the others.
BOOST_AUTO_TEST_CASE(members_find_memory_gone_behind_the_same_use) {
  constexpr std::uint32_t members = 3;
  int closed = 0;
  for (int round = 0; round < 2000; ++round) {
    alignas(64) std::array<std::byte, slot_pool::gate_bytes(members)> gate{};
    std::array<std::uint64_t, members> uses{};
    std::atomic<std::uint64_t> ends{0};
    std::vector<std::thread> threads;
    for (std::uint32_t m = 0; m < members; ++m)
      threads.emplace_back([&, m] {
        slot_pool pool;
        pool.most = 0;
        bool gone = false;
        slot_pool::holding one(pool, {gate.data(), members, m, &pool, 1, 0, [&] { gone = true; }});
        for (std::uint64_t use = 1; use <= 20 && !gone && one.begin(); ++use) {
          uses[m] = use;
          ends.fetch_add(1);
          while (ends.load() < members * (use - (m == 0))) std::this_thread::yield();  // what all do together; the first member may be ahead of that
          one.end();
          for (std::uint64_t again = (use * 7 + m + static_cast<std::uint64_t>(round)) % 11; again > 0 && !gone; --again)
            pool.leave_idle(nullptr, 0), pool.give_back(), std::this_thread::yield();
          if (gone) ends.fetch_add(1000);
        }
        if (uses[m] < 20) ends.fetch_add(1000);  // who is ahead waits for nobody any more
      });
    for (auto& t : threads) t.join();
    BOOST_REQUIRE_MESSAGE(uses[0] == uses[1] && uses[1] == uses[2], "round " << round << ": " << uses[0] << ' ' << uses[1] << ' ' << uses[2]);
    closed += uses[0] < 20;
  }
  BOOST_TEST(closed > 0);
}

BOOST_AUTO_TEST_CASE(parts_that_fit_only_alone_are_refused_by_all) {
  for (const fabric_spec& fabric : wanted([] { return fabrics(); })) {
    BOOST_TEST_MESSAGE(fabric.name);
    run_ranks(fabric, 4, [](rank_env& env) {
      never_fill();
      auto j = open_job(env);
      const std::uint64_t room = memory_room();
      if (room == room_unknown) skip("nobody tells how much memory there is");
      // The last asks for nothing, and refuses as the others do.
      const auto refused = window::open(j->world(), {.bytes = env.rank == 3 ? 0 : room / 5 * 2});
      require(!refused.ok(), "120 % of the memory were given");
      require(refused.error().code() == errc::no_resource, refused.error().text());
      const std::string text = refused.error().text();
      require(text.find("3 ranks on the node of rank 0 ask together for ") != std::string::npos, text);
      const auto all = env.exchange(std::as_bytes(std::span{text}));
      for (rank_t r = 0; r < env.size; ++r)
        require(std::ranges::equal((*all)[r], std::as_bytes(std::span{text})), "all are told the same");
      // Nothing has changed.
      const auto small = take(window::open(j->world(), {.bytes = 4096}), "a small window afterwards");
      require(small->close(), "close");
    });
  }
}

// Large parts that fit come in a later exchange than small ones: all kinds in one window.
BOOST_AUTO_TEST_CASE(late_and_early_parts_make_one_window) {
  for (const fabric_spec& fabric : wanted([] { return fabrics(); })) {
    if (!fabric.name.ends_with(":tcp")) continue;  // others may take at once what they give, or keep it in /dev/shm
    BOOST_TEST_MESSAGE(fabric.name);
    run_ranks(fabric, 4, [](rank_env& env) {
      auto j = open_job(env);
      const std::uint64_t room = memory_room();
      if (room == room_unknown) skip("nobody tells how much memory there is");
      alignas(64) static std::byte own[4096];
      const window::part parts[] = {{.bytes = room / 8}, {.bytes = 4096}, {}, {.base = own, .bytes = sizeof own}};
      const auto w = take(window::open(j->world(), parts[env.rank]), "window");
      for (rank_t r = 0; r < env.size; ++r) require(r == 0 || w->size_of(r) == parts[r].bytes, "its size");
      require(w->size_of(0) > 4096, "the large part's size");
      if (env.rank != 0) env.run(put(plain(own), {0, w->segment(), 64 * env.rank}, 8));
      require(w->close(), "close");
    });
  }
}
