// Direct gets on every fabric: from a process that is still in the last sync, one that waits in the next, and one that asks
// itself; of more than a piece.
#include <boost/test/unit_test.hpp>

#include "bsp/engine.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/composed.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;

void gets(rank_env& env, bsp::scheme how) {
  auto j = open_job(env);
  if (how == bsp::scheme::multicast && !j->net().mcast()) skip("no multicast");
  auto e = take(bsp::engine::open(j->world(), {.how = how}), "engine");
  const auto must = [&](bool ok) { require(ok, e->error().text()); };
  const std::uint32_t me = e->pid(), n = e->nprocs();
  constexpr std::size_t words = 5000;  // more than two pieces
  std::vector<std::uint64_t> area(words), got(words);
  must(e->push_reg(area.data(), 8 * words) && e->sync());
  for (std::uint64_t round = 0; round < 30; ++round) {
    const std::vector<std::uint64_t> sent(words, 100 * round + me);
    must(e->put((me + 1) % n, sent.data(), area.data(), 0, 8 * words) && e->sync());
    if ((round + me) % 3 == 0) continue;
    for (std::uint32_t t = 1; t <= n; ++t) {
      const std::uint32_t from = (me + t) % n;
      const std::size_t count = round % 2 ? words : 1;
      must(e->direct_get(from, area.data(), 8 * (words - count), got.data(), 8 * count));
      for (std::size_t i = 0; i < count; ++i)
        if (got[i] != 100 * round + (from + n - 1) % n)
          fail("round " + std::to_string(round) + ": word " + std::to_string(i) + " of process " + std::to_string(from) + " is " +
               std::to_string(got[i]));
    }
  }
  must(e->leave());
}

}  // namespace

BOOST_AUTO_TEST_CASE(they_see_what_the_last_sync_wrote) {
  std::vector<fabric_spec> all = fabrics();
  for (const fabric_spec& f : sim_fabrics()) all.push_back(f);
  for (const fabric_spec& f : composed_fabrics(fabrics())) all.push_back(f);
  for (const fabric_spec& fabric : all)
    for (const auto& [how, n] : {std::pair{bsp::scheme::automatic, 2u}, std::pair{bsp::scheme::automatic, 5u},
                                 std::pair{bsp::scheme::multicast, 3u}}) {
      BOOST_TEST_INFO(fabric.name << ", " << n << " processes, scheme " << bsp::row_of(how).name);
      run_ranks(fabric, n, [&, how = how](rank_env& env) { gets(env, how); }, {.timeout = std::chrono::seconds(60) * time_scale});
    }
}
