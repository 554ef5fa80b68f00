// A library whose thread copies what peers send: where the rank upon whose memory they write drops it, or leaves, in the
// middle of that, the thread must find memory there.
#define BOOST_TEST_MODULE ofi_late_writes
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;

namespace {

const fabric_spec sockets{"ofi:sockets"};
constexpr std::size_t bytes = 1 << 20;

// Rank 1 sends and does not know when the other drops: to it the write fails, or the other seems lost, or all is well.
void dropped_in_the_middle(rank_env& e) {
  for (std::size_t round = 0; round < 8; ++round) {
    area a = e.allocate(bytes);
    completion done;
    if (e.rank == 1) {
      std::fill(a.memory.begin(), a.memory.end(), std::byte{1});
      for (int i = 0; i < 8; ++i) e.submit(put(a.mine(), a.at(0), bytes, &done));
      e.wait_idle(done);
    } else {
      const std::size_t look_at = bytes / 8 * round / 8 * 8;  // so much of the first has come
      while (!load(a.word(look_at))) ::usleep(10);
      e.net().drop(a.region);
      ::usleep(20'000);
    }
    if (e.sum(e.rank == 1 && !done.outcome())) return;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_that_is_dropped_in_the_middle_of_a_put) {
  run_ranks(sockets, 2, dropped_in_the_middle);
}
