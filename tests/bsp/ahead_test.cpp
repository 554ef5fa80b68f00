// Hp calls go to the fabric at the call: the bytes are there though nobody enters a sync. Where memory is shared they go
// in the sync, because that costs less (bsp/hp_calls.h); there large ones are packed up to a bound (engine::moves_directly).
#include <boost/test/unit_test.hpp>

#include "bsp/engine.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/composed.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using words = std::vector<std::uint64_t>;

void must(bool ok, const bsp::engine& e) { require(ok, e.error().text()); }

words pattern(std::uint64_t from, std::size_t n) {
  words w(n);
  for (std::size_t i = 0; i < n; ++i) w[i] = from + i;
  return w;
}

bool here(const words& seen, const words& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (load(&seen[i]) != wanted[i]) return false;
  return true;
}

bool shares_memory(job& j, rank_t other) {
  auto w = take(window::open(j.world(), {nullptr, 64}), "window");
  const bool mapped = j.net().map(w->segment(), other) != nullptr;
  require(w->close(), "close");
  return mapped && !j.net().caps().native_when_added;
}

// Process 0 puts to 1 and gets from it; the other may do nothing but progress. `refuses`: the fabric is full now and then,
// and what it refused goes with a later hp call.
void arrive_before_the_sync(rank_env& env, bsp::scheme how, bool refuses) {
  auto j = open_job(env);
  if (how == bsp::scheme::multicast && !j->net().mcast()) skip("no multicast");
  auto e = take(bsp::engine::open(j->world(), {.how = how}), "engine");
  if (shares_memory(*j, 1 - env.rank)) skip("memory is shared: hp calls go in the sync");
  for (const std::size_t n : {std::size_t{1}, std::size_t{1500}, std::size_t{40000}}) {
    words area(n), fixed = pattern(7000, n), got(n), spare(1);
    must(e->push_reg(area.data(), 8 * n) && e->push_reg(fixed.data(), 8 * n) && e->push_reg(spare.data(), 8), *e);
    must(e->sync(), *e);
    for (std::uint64_t step = 1; step <= 4; ++step) {
      const words sent = pattern(step << 32, n);
      std::fill(got.begin(), got.end(), 0);
      if (step == 3) {  // so long without hp calls that nobody tells any more; the first such call has all tell again
        for (int pause = 0; pause < 20; ++pause) must(e->sync(), *e);
        if (env.rank == 0) must(e->hpput(1, &step, spare.data(), 0, 8), *e);
        must(e->sync(), *e);
        if (env.rank == 1) require_equal(spare[0], step, "what was put after a pause");
      }
      env.pause(std::chrono::milliseconds(1));
      env.barrier();  // all have left the last sync, and said so
      if (env.rank == 0) {
        must(e->hpput(1, sent.data(), area.data(), 0, 8 * n), *e);
        must(e->hpget(1, fixed.data(), 0, got.data(), 8 * n), *e);
        env.until("what hpget brings, before the sync", [&] {
          if (refuses) must(e->hpput(1, sent.data(), spare.data(), 0, 8), *e);
          return here(got, fixed);
        });
      } else {
        env.until("what hpput brings, before the sync", [&] { return here(area, sent); });
      }
      env.barrier();
      must(e->sync(), *e);
      if (env.rank == 1) require(here(area, sent), "still there");
      env.barrier();  // no put of the next superstep yet
    }
    must(e->pop_reg(spare.data()) && e->pop_reg(fixed.data()) && e->pop_reg(area.data()), *e);
    must(e->sync(), *e);
  }
  must(e->leave(), *e);
}

std::vector<fabric_spec> all_fabrics() {
  std::vector<fabric_spec> all = fabrics();
  for (const fabric_spec& f : sim_fabrics()) all.push_back(f);
  for (const fabric_spec& f : composed_fabrics(fabrics())) all.push_back(f);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_arrive_before_the_sync) {
  for (const fabric_spec& fabric : all_fabrics())
    for (const bsp::scheme how : {bsp::scheme::automatic, bsp::scheme::baseline, bsp::scheme::dissemination, bsp::scheme::multicast})
      run_ranks(fabric, 2, [&](rank_env& env) {
        arrive_before_the_sync(env, how, fabric.name == "sim:wild" || fabric.name == "sim:tcp");
      });
}

// Of 100 kB each. With 4 MiB of buffers and two processes 128 KiB of them are packed: one.
BOOST_AUTO_TEST_CASE(where_memory_is_shared_large_ones_are_packed_up_to_a_bound) {
  run_ranks({"shm"}, 2, [](rank_env& env) {
    auto j = open_job(env);
    auto e = take(bsp::engine::open(j->world(), {.memory = 4 << 20}), "engine");
    constexpr std::size_t n = 12500, times = 5;
    const std::uint32_t other = 1 - env.rank;
    words area(times * n), fixed = pattern(7000 + env.rank, times * n), got(times * n);
    must(e->push_reg(area.data(), 8 * area.size()) && e->push_reg(fixed.data(), 8 * fixed.size()), *e);
    must(e->sync(), *e);
    for (std::uint64_t step = 1; step <= 4; ++step) {
      const std::uint64_t packed = e->hp_packed(), direct = e->hp_direct();
      const words sent = pattern((step << 32) + env.rank, times * n);
      std::fill(got.begin(), got.end(), 0);
      for (std::size_t i = 0; i < times; ++i) {
        must(e->hpput(other, &sent[i * n], area.data(), 8 * i * n, 8 * n), *e);
        must(e->hpget(other, fixed.data(), 8 * i * n, &got[i * n], 8 * n), *e);
      }
      must(e->sync(), *e);
      require(here(area, pattern((step << 32) + other, times * n)), "what was put");
      require(here(got, pattern(7000 + other, times * n)), "what was got");
      require_equal(e->hp_packed() - packed, 2u, "packed: a put and a get");
      require_equal(e->hp_direct() - direct, 2 * (times - 1), "not packed");
    }
    must(e->leave(), *e);
  });
}
