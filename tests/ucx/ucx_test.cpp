// What every provider must do is tested by conformance. Here: what is UCX's own.
#define BOOST_TEST_MODULE ucx
#include <signal.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <thread>

#include "core/provider.h"
#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;
using namespace std::chrono_literals;

namespace {

const fabric_spec all[] = {{"ucx:tcp"}, {"ucx:shm"}, {"ucx"}};

}  // namespace

BOOST_AUTO_TEST_CASE(words_go_round_a_ring) {
  for (const auto& fabric : all) run_ranks(fabric, 4, [](rank_env& env) {
    const area a = env.allocate(64);
    const rank_t next = (env.rank + 1) % env.size;
    for (std::uint64_t lap = 1; lap <= 100; ++lap) {
      if (env.rank == 0) env.submit(signal(a.at(next), lap));
      env.wait_word(a.word(), lap);
      if (env.rank != 0) env.submit(signal(a.at(next), lap));
    }
  });
}
