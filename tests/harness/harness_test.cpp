// The harness itself: whatever a rank does, the test must end, and say which rank it was and why.
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "tests/harness/expect.h"
#include "tests/harness/lists.h"
#include "tests/harness/rank_env.h"
#include "tests/harness/run.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;
using how = rank_end::how;

namespace {

run_report run(std::uint32_t n, const process_body& body, run_options o = {}) {
  return run_processes(n, o.threads, o, body);
}

shared_blobs meet(meeting& m, rank_t r, std::string_view blob = {}) {
  return rank_env{m, r, 1, 10s}.exchange(std::as_bytes(std::span{blob}));
}

std::string as_text(std::span<const std::byte> s) { return {reinterpret_cast<const char*>(s.data()), s.size()}; }

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_that_return_pass) {
  BOOST_TEST(run(4, [](meeting&, rank_t, std::uint32_t) {}).passed());
}

BOOST_AUTO_TEST_CASE(an_exchange_brings_every_blob_to_everyone_in_order) {
  const auto report = run(5, [](meeting& m, rank_t r, std::uint32_t) {
    rank_env env(m, r, 1, 10s);
    for (int round = 0; round < 50; ++round) {
      const std::string mine = std::string(r * 3, 'x') + std::to_string(round * 100 + r);
      const auto all = env.exchange(std::as_bytes(std::span{mine}));
      for (rank_t p = 0; p < 5; ++p)
        require(as_text((*all)[p]) == std::string(p * 3, 'x') + std::to_string(round * 100 + p), "blob");
    }
    require_equal(env.sum(r), 10u, "sum");
  });
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(a_failing_rank_is_reported_with_file_and_text_and_the_others_are_ended) {
  const auto report = run(3, [](meeting& m, rank_t r, std::uint32_t) {
    if (r == 1) fail("the third word is wrong");
    for (;;) m.nap(m.bell(), 1s);
  });
  BOOST_TEST(!report.passed());
  BOOST_CHECK(report.ranks[1].as == how::failed);
  BOOST_TEST(report.ranks[1].text.find("harness_test.cpp:") == 0u);
  BOOST_TEST(report.ranks[1].text.find("the third word is wrong") != std::string::npos);
  BOOST_CHECK(report.ranks[0].as == how::ended && report.ranks[2].as == how::ended);
}

BOOST_AUTO_TEST_CASE(a_hanging_rank_is_killed_and_what_it_waits_for_is_named) {
  run_options o;
  o.timeout = 300ms;
  const auto report = run(3, [](meeting& m, rank_t r, std::uint32_t) {
    if (r != 2) return;
    const waiting_for w(m, r, "a word that nobody writes");
    for (;;) pause();
  }, o);
  BOOST_CHECK(report.ranks[0].as == how::passed && report.ranks[1].as == how::passed);
  BOOST_CHECK(report.ranks[2].as == how::hung);
  BOOST_TEST(report.text().find("rank 2 hung: waiting for a word that nobody writes") == 0u);
}

BOOST_AUTO_TEST_CASE(a_wait_of_the_library_is_named_by_its_own_description) {
  run_options o;
  o.timeout = 300ms;
  const auto report = run(1, [](meeting&, rank_t, std::uint32_t) {
    describe_waits_by([](char* out, std::size_t room) { std::strncpy(out, "rank 7, word 3, epoch 9", room - 1); });
    for (;;) pause();
  }, o);
  BOOST_TEST(report.ranks[0].text == "waiting for rank 7, word 3, epoch 9");
}

BOOST_AUTO_TEST_CASE(a_crash_is_reported_with_its_signal) {
  const auto report = run(2, [](meeting&, rank_t r, std::uint32_t) {
    if (r == 1) std::raise(SIGABRT);
  });
  BOOST_CHECK(report.ranks[0].as == how::passed && report.ranks[1].as == how::crashed);
  BOOST_TEST(report.ranks[1].text.find("Aborted") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_exit_in_the_middle_is_reported_with_its_status) {
  const auto report = run(2, [](meeting&, rank_t r, std::uint32_t) {
    if (r == 0) _exit(5);
  });
  BOOST_CHECK(report.ranks[0].as == how::crashed);
  BOOST_TEST(report.ranks[0].text == "exited with status 5");
}

BOOST_AUTO_TEST_CASE(who_meets_a_rank_that_is_gone_fails_at_once) {
  const auto report = run(3, [](meeting& m, rank_t r, std::uint32_t) {
    if (r != 1) meet(m, r);
  });
  BOOST_TEST(!report.passed());
  BOOST_TEST(report.ranks[0].text.find("rank 1 is gone") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(survivors_meet_without_a_rank_that_was_to_die) {
  run_options o;
  o.to_die = {1};
  const auto report = run(3, [](meeting& m, rank_t r, std::uint32_t) {
    if (r == 1) raise(SIGKILL);
    require_equal((*meet(m, r, "here"))[1].size(), 0u, "a dead rank's blob");
  }, o);
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(a_rank_that_was_to_die_and_lives_is_a_failure) {
  run_options o;
  o.to_die = {0};
  BOOST_CHECK(run(2, [](meeting&, rank_t, std::uint32_t) {}, o).ranks[0].as == how::failed);
}

BOOST_AUTO_TEST_CASE(skipped_means_every_rank_skipped) {
  const auto report = run(3, [](meeting&, rank_t, std::uint32_t) { skip("no such thing here"); });
  BOOST_REQUIRE(report.skipped());
  BOOST_TEST(*report.skipped() == "no such thing here");
  run_options o;
  o.to_die = {1};
  BOOST_TEST(run(2, [](meeting&, rank_t, std::uint32_t) { skip("nobody dies then"); }, o).skipped());
  const auto mixed = run(2, [](meeting&, rank_t r, std::uint32_t) { if (r) skip("only one"); });
  BOOST_TEST(!mixed.skipped());
  BOOST_TEST(!mixed.passed());
}

BOOST_AUTO_TEST_CASE(ranks_as_threads_of_one_process_fail_each_for_itself) {
  run_options o;
  o.threads = true;
  const auto report = run(4, [](meeting& m, rank_t first, std::uint32_t count) {
    std::vector<std::thread> all;
    for (rank_t r = first; r < first + count; ++r)
      all.emplace_back([&m, r] { run_one(m, r, [&] { meet(m, r); require(r != 3, "not three"); }); });
    for (auto& t : all) t.join();
  }, o);
  BOOST_CHECK(report.ranks[2].as == how::passed && report.ranks[3].as == how::failed);
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_alone_fails_as_well) {
  run_options o;
  o.threads = true;
  const auto report = run(1, [](meeting& m, rank_t r, std::uint32_t) { run_one(m, r, [] { fail("alone"); }); }, o);
  BOOST_CHECK(report.ranks[0].as == how::failed);
}

BOOST_AUTO_TEST_CASE(a_hanging_thread_is_named_among_the_others) {
  run_options o;
  o.threads = true, o.timeout = 300ms;
  const auto report = run(2, [](meeting& m, rank_t first, std::uint32_t count) {
    std::vector<std::thread> all;
    for (rank_t r = first; r < first + count; ++r)
      all.emplace_back([&m, r] {
        run_one(m, r, [&] {
          const waiting_for w(m, r, "the end of days");
          while (r == 1) std::this_thread::sleep_for(10ms);
        });
      });
    for (auto& t : all) t.join();
  }, o);
  BOOST_CHECK(report.ranks[1].as == how::hung);
  BOOST_TEST(report.ranks[1].text == "waiting for the end of days");
}

BOOST_AUTO_TEST_CASE(no_child_outlives_its_run) {
  run_options o;
  o.timeout = 200ms;
  run(2, [](meeting&, rank_t, std::uint32_t) { for (;;) pause(); }, o);
  BOOST_TEST(waitpid(-1, nullptr, WNOHANG) == -1);
  BOOST_TEST(errno == ECHILD);
}

// Any two values of two loops meet in some case, though n divides the loops' lengths.
BOOST_AUTO_TEST_CASE(one_in_n_takes_any_two_values_of_loops_together) {
  for (const std::size_t n : {2u, 3u})
    for (const std::size_t inner : {6u, 8u, 14u}) {
      constexpr std::size_t outer = 5, middle = 6;
      one_in some(static_cast<unsigned>(n), {inner, middle});
      std::set<std::pair<std::size_t, std::size_t>> within, around, apart;
      std::size_t taken = 0;
      for (std::size_t i = 0; i < outer; ++i)
        for (std::size_t k = 0; k < middle; ++k)
          for (std::size_t l = 0; l < inner; ++l)
            if (some()) within.emplace(k, l), around.emplace(i, k), apart.emplace(i, l), ++taken;
      BOOST_TEST(within.size() == middle * inner);
      BOOST_TEST(around.size() == outer * middle);
      BOOST_TEST(apart.size() == outer * inner);
      if (!whole_list()) BOOST_TEST(taken <= outer * middle * (inner / n + 1));
    }
}
