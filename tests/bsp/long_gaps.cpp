// Words that nobody wrote over for 65536 supersteps and more: what they say must not be taken for what is awaited.
#include <boost/test/unit_test.hpp>

#include "bsp/engine.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;

constexpr std::uint64_t gap = 65536;
constexpr std::uint64_t quiet = 5;  // empty supersteps, after which the next one is taken for empty

void must(bool ok, const bsp::engine& e) {
  if (!ok) fail(e.error().text());
}

// In turn: a superstep in which everyone puts `bytes` to everyone, or process 0 gets them, and empty ones until the next
// is `gap` later. `passing`: as if there were.
void now_and_then(rank_env& env, bool getting, std::uint64_t bytes, std::uint8_t turns, bool passing, bsp::metadata_way way) {
  auto j = open_job(env);
  auto e = take(bsp::engine::open(j->world(), {}), "engine");
  require(e->way() == way, "metadata goes by the way that this test is about");
  const std::uint32_t n = e->nprocs(), me = e->pid();
  std::vector<std::uint8_t> mine(bytes), area(n * bytes), got(n * bytes);
  const auto& source = getting ? mine : area;
  must(e->push_reg(source.data(), source.size()) && e->sync(), *e);
  for (std::uint8_t turn = 1; turn <= turns; ++turn) {
    std::fill(mine.begin(), mine.end(), static_cast<std::uint8_t>(turn * n + me));
    const bool idle = getting && me != 0;
    const std::uint32_t first = getting ? 1 : 0;  // so process 0 has nothing else to do than to look for answers
    for (std::uint32_t q = first; q < n && !idle; ++q)
      must(getting ? e->get(q, mine.data(), 0, got.data() + q * bytes, bytes)
                   : e->put(q, mine.data(), area.data(), me * bytes, bytes), *e);
    const std::uint64_t by_words = e->by_words_instead();
    must(e->sync(), *e);
    if (turn > 1) require_equal(e->by_words_instead(), by_words, "this superstep goes by the way that this test is about");
    const auto& seen = getting ? got : area;
    for (std::size_t i = first * bytes; i < seen.size() && !idle; ++i)
      require_equal(unsigned{seen[i]}, turn * n + static_cast<unsigned>(i / bytes),
                    "byte " + std::to_string(i) + " of turn " + std::to_string(turn));
    if (turn == turns) break;
    if (passing) e->pass(gap - 1 - quiet);
    for (std::uint64_t k = passing ? gap - quiet : 1; k < gap; ++k) must(e->sync(), *e);
  }
  must(e->leave(), *e);
}

}  // namespace

BOOST_AUTO_TEST_CASE(answers_read_in_place) {
  run_ranks({"shm"}, 2, [&](rank_env& env) { now_and_then(env, true, 20000, 2, false, bsp::metadata_way::direct); },
            {.timeout = std::chrono::seconds(120) * time_scale});
}

// Flags go by dissemination, and may be there before the chunks: then the words of those are still the old ones.
BOOST_AUTO_TEST_CASE(chunks_that_come_with_a_word) {
  sim::parameters p;
  p.ranks = 4, p.jitter = 100, p.multicast = false;
  p.cost = {0.1, 0.5, 0.1, 10};  // messages are dear and near: so dissemination is chosen
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    p.seed = seed;
    BOOST_TEST_INFO("seed " << seed);
    const auto report = try_ranks_simulated(
        p, [&](rank_env& env) { now_and_then(env, false, 500, 20, true, bsp::metadata_way::dissemination); });
    BOOST_TEST(report.passed(), report.text());
  }
}
