// A library that copies what peers send: where the rank upon whose memory they write drops it, or leaves, in the
// middle of that, it must find memory there.
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
    if (e.sum(e.rank == 1 && done.outcome().failed())) return;
  }
}

// The program's own memory is for other use as soon as drop() returns, though the rest of a put comes later.
void for_other_use(rank_env& e) {
  for (std::size_t round = 0; round < 8; ++round) {
    std::vector<std::byte> own(bytes, e.rank == 1 ? std::byte{2} : std::byte{});
    area a = e.add(own);
    completion done;
    if (e.rank == 1) {
      for (int i = 0; i < 8; ++i) e.submit(put(a.mine(), a.at(0), bytes, &done));
      e.wait_idle(done);
    } else {
      e.until("some of the first put", [&] { return load(a.word()) != 0; });
      e.net().drop(a.region);
      own.assign(bytes, std::byte{3});
    }
    e.barrier();
    if (e.rank == 0) require(own == std::vector(bytes, std::byte{3}), "memory that was dropped is written to");
    e.drop(a);
  }
}

// The owner's, that peers write to and read from: it goes on being their peer.
void dropped_where_peers_reach_it(rank_env& e) {
  constexpr std::uint32_t some = 1 << 20;
  const area stays = e.allocate(2 * some);
  for (int round = 0; round < 4; ++round) {
    area in = e.allocate(some);
    completion done;
    for (int i = 0; i < 8 && e.rank == 1; ++i) {
      e.submit(put(stays.mine(), in.at(0), some, &done));
      e.submit(get(stays.mine(some), in.at(0), some, &done));
    }
    if (e.rank == 0 && round % 2) e.progress_for_a_moment();
    if (e.rank == 0) e.net().drop(in.region);
    e.wait_idle(done);  // with success or an error
    e.barrier();
    require(e.net().health(1 - e.rank), "health of a rank that dropped memory, or wrote to what was dropped");
    e.run(put(stays.mine(), stays.at(1 - e.rank, some), some, nullptr));
    e.flush();
    e.barrier();
    e.net().drop(in.segment);
    if (e.rank == 1) e.net().drop(in.region);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(memory_of_the_program_over_tcp) { run_ranks(fabric_spec{"ofi:tcp"}, 2, for_other_use); }
BOOST_AUTO_TEST_CASE(memory_of_the_program_over_net) { run_ranks(fabric_spec{"ofi:net"}, 2, for_other_use); }

BOOST_AUTO_TEST_CASE(memory_that_is_dropped_in_the_middle_of_a_put) {
  run_ranks(sockets, 2, dropped_in_the_middle);
}

BOOST_AUTO_TEST_CASE(who_dropped_memory_stays_a_peer_over_tcp) { run_ranks(fabric_spec{"ofi:tcp"}, 2, dropped_where_peers_reach_it); }
BOOST_AUTO_TEST_CASE(who_dropped_memory_stays_a_peer_over_net) { run_ranks(fabric_spec{"ofi:net"}, 2, dropped_where_peers_reach_it); }
