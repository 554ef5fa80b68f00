// Which way large puts go: the costs, and that the choice is made for each destination and superstep by itself.
#include <boost/test/unit_test.hpp>

#include "bsp/bulk_choice.h"
#include "bsp/engine.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/composed.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using bsp::bulk_way;
using bsp::pays_to_pull;

constexpr std::uint64_t kib = 1024;
const bulk_way adapter{{1.2, 0.2, 0.2, 10}, 30, 1024 * kib, 16 * kib - 48};

// Each process tells what it saw of the choice.
void puts_to_two(rank_env& env) {
  auto j = open_job(env);
  auto e = take(bsp::engine::open(j->world(), {}), "engine");
  const auto must = [&](bool ok) { require(ok, e->error().text()); };
  const std::uint32_t me = e->pid(), n = e->nprocs(), near = (me + 1) % n, far = (me + 2) % n;
  std::vector<std::byte> area(n * 512 * kib), source(512 * kib);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + me);
  must(e->push_reg(area.data(), area.size()) && e->sync());
  struct {
    std::uint64_t to_near, to_far, each;         // bytes, and of one put
    std::uint64_t pulled, pushed;                // destinations
  } const steps[] = {{2 * kib, 256 * kib, 512 * kib, 1, 1},   // one large, one just large enough to be packed apart
                     {256 * kib, 2 * kib, 512 * kib, 1, 1},   // the other way round
                     {256 * kib, 256 * kib, 8 * kib, 2, 0},   // many puts, none of which would be worth it alone
                     {8 * kib, 8 * kib, 8 * kib, 0, 2},
                     {512, 512, 512, 0, 0}};                  // with the small ones
  for (const auto& s : steps) {
    const std::uint64_t pulled = e->bulk_pulled(), pushed = e->bulk_pushed();
    std::fill(area.begin(), area.end(), std::byte{});
    env.barrier();
    const auto put = [&](std::uint32_t to, std::uint64_t bytes) {
      for (std::uint64_t at = 0; at < bytes; at += s.each)
        must(e->put(to, source.data() + at, area.data(), me * 512 * kib + at, std::min(s.each, bytes - at)));
    };
    put(near, s.to_near), put(far, s.to_far);
    must(e->sync());
    require_equal(e->bulk_pulled() - pulled, s.pulled, "destinations that pulled");
    require_equal(e->bulk_pushed() - pushed, s.pushed, "destinations that had it pushed");
    const auto came = [&](std::uint32_t from, std::uint64_t bytes) {
      for (std::size_t i = 0; i < 512 * kib; ++i)
        if (area[from * 512 * kib + i] != (i < bytes ? static_cast<std::byte>(i * 7 + from) : std::byte{}))
          fail("byte " + std::to_string(i) + " from process " + std::to_string(from));
    };
    came((me + n - 1) % n, s.to_near), came((me + n - 2) % n, s.to_far);
    env.barrier();
  }
  must(e->leave());
}

// Of large puts to one place from several processes, some pulled and some pushed and some packed, one is there whole.
void puts_to_one_place(rank_env& env) {
  auto j = open_job(env);
  auto e = take(bsp::engine::open(j->world(), {}), "engine");
  const auto must = [&](bool ok) { require(ok, e->error().text()); };
  const std::uint32_t me = e->pid(), n = e->nprocs();
  constexpr std::size_t most = 200 * kib;
  std::vector<std::byte> area(most), spare(n * most), source(most, std::byte(me + 1));
  must(e->push_reg(area.data(), most) && e->push_reg(spare.data(), spare.size()) && e->sync());
  for (const std::size_t bytes : {20 * kib, 100 * kib, 200 * kib})
    for (std::uint32_t step = 0; step < 6; ++step) {
      // What else goes to process 0 decides which way: different for each process and superstep.
      if ((me + step) % 3 == 0) must(e->put(0, source.data(), spare.data(), me * most, 120 * kib));
      must(e->put(0, source.data(), area.data(), 0, bytes));
      must(e->sync());
      if (me == 0)
        for (std::size_t i = 1; i < bytes; ++i)
          if (area[i] != area[0]) fail("two puts are mixed at byte " + std::to_string(i));
    }
  must(e->leave());
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_choice) {
  BOOST_TEST(!pays_to_pull({1, 4 * kib}, adapter));
  BOOST_TEST(pays_to_pull({1, 64 * kib}, adapter));
  BOOST_TEST(!pays_to_pull({2, 16 * kib}, adapter));
  BOOST_TEST(pays_to_pull({32, 256 * kib}, adapter));    // 8 KiB each: together they are worth a round trip
  BOOST_TEST(!pays_to_pull({256, 256 * kib}, adapter));  // 1 KiB each: a slice costs what its copy does
  bulk_way slow = adapter;
  slow.cost = {20, 5, 5, 0.5};
  BOOST_TEST(!pays_to_pull({1, 64 * kib}, slow));
  BOOST_TEST(pays_to_pull({1, 1024 * kib}, slow));
  bulk_way alone = adapter;
  alone.slices = 0;  // a read for each put
  BOOST_TEST(pulled_us({32, 256 * kib}, alone) > pulled_us({32, 256 * kib}, adapter));
  // More of the same never makes reads the worse way again.
  for (const std::uint64_t each : {2 * kib, 5 * kib, 40 * kib, 3000 * kib}) {
    bool pulls = false;
    for (std::uint64_t puts = 1; puts < 500; ++puts) {
      const bool now = pays_to_pull({puts, puts * each}, adapter);
      BOOST_TEST(!(pulls && !now));
      pulls = pulls || now;
    }
    BOOST_TEST(pulls);
  }
}

BOOST_AUTO_TEST_CASE(by_destination_and_superstep) {
  for (const char* fabric : {"sim", "far(shm)"}) run_ranks({fabric}, 3, puts_to_two);
  // Between hosts: the processes on either side are those of other hosts.
  run_ranks({"router(shm+far(shm))"}, 4, [](rank_env& env) {
    auto j = open_job(env);
    for (rank_t r = 0; r < 4; ++r)
      require_equal(j->net().native_towards(r), r % 2 != env.rank % 2, "who reads by itself: " + std::to_string(r));
    auto e = take(bsp::engine::open(j->world(), {}), "engine");
    std::vector<std::byte> area(4 * 256 * kib), source(256 * kib, std::byte(env.rank + 1));
    bool ok = e->push_reg(area.data(), area.size()) && e->sync();
    for (std::uint32_t to = 0; ok && to < 4; ++to) ok = e->put(to, source.data(), area.data(), env.rank * 256 * kib, 256 * kib);
    ok = ok && e->sync();
    require(ok, e->error().text());
    for (std::size_t i = 0; i < area.size(); ++i)
      if (area[i] != std::byte(i / (256 * kib) + 1)) fail("byte " + std::to_string(i));
    require_equal(e->bulk_pulled(), 2, "pulled by the other host's processes alone");
    require_equal(e->bulk_pushed(), 0, "pushed");
    const bool left = e->leave();
    require(left, e->error().text());
  });
}

// R and N of Birk's figure 3: how many puts a read fetches. Each process puts every other word to the next.
BOOST_AUTO_TEST_CASE(scatter_lists) {
  constexpr std::uint32_t puts = 600;
  for (const char* fabric : {"sim", "shm", "far(shm)"})
    for (const bsp::scheme how : {bsp::scheme::rdma, bsp::scheme::single_reads})
      run_ranks({fabric}, 3, [&](rank_env& env) {
        auto j = open_job(env);
        auto e = take(bsp::engine::open(j->world(), {.how = how}), "engine");
        const std::uint64_t me = e->pid(), next = (me + 1) % 3, before = (me + 2) % 3;
        std::vector<std::uint64_t> area(2 * puts);
        bool ok = e->push_reg(area.data(), 8 * area.size()) && e->sync();
        const std::uint64_t had = e->bulk_reads();
        for (std::uint64_t i = 0; ok && i < puts; ++i) {
          const std::uint64_t value = me << 32 | i;
          ok = e->put(static_cast<std::uint32_t>(next), &value, area.data(), 16 * i, 8);
        }
        ok = ok && e->sync();
        require(ok, e->error().text());
        for (std::uint64_t i = 0; i < puts; ++i)
          require(area[2 * i] == (before << 32 | i) && area[2 * i + 1] == 0, "word " + std::to_string(2 * i));
        const std::uint32_t slices = std::min(j->net().caps().max_slices, 255u);
        require_equal(e->bulk_reads() - had, how == bsp::scheme::rdma ? (puts + slices - 1) / slices : puts, "reads");
        const bool left = e->leave();
        require(left, e->error().text());
      });
}

BOOST_AUTO_TEST_CASE(of_two_puts_to_one_place_one_is_whole) {
  for (const char* fabric : {"sim", "sim:wild", "far(shm)", "router(shm+far(shm))"}) run_ranks({fabric}, 4, puts_to_one_place);
}
