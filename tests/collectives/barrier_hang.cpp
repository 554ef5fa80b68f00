// A barrier that nobody ends is told by the watchdog: who hangs, in what, for whom.
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "tests/collectives/job_env.h"

using namespace tutti;
using namespace tutti::test;

BOOST_AUTO_TEST_CASE(a_hanging_barrier_names_the_rank_it_waits_for) {
  const run_report report = try_ranks({"shm"}, 2, [](rank_env& env) {
    auto j = open_job(env);
    auto world = take(communicator::world(*j, {.barrier = "dissemination"}), "world");
    while (env.rank == 1) pause();
    require(world->barrier().enter(), "barrier");
  }, {.timeout = std::chrono::milliseconds(700) * time_scale});
  BOOST_TEST(!report.passed());
  const std::string text = report.text();
  BOOST_TEST(text.find("dissemination: rank 1, whose word is at 0 of 1") != std::string::npos, text);
}
