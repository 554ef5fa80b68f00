// Descriptors, mappings and /dev/shm are as before, whatever was done and however it ended.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>

#include "core/transport/multicast.h"
#include "core/transport/provider.h"
#include "core/transport/two_sided.h"
#include "tests/harness/fabrics.h"
#include "tests/harness/resources.h"

using namespace tutti;
using namespace tutti::test;

namespace {

const fabric_spec shm{"shm"};

// Mappings that this provider made, by their names.
long mappings() {
  std::ifstream maps{"/proc/self/maps"};
  long n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find("/memfd:tutti") != line.npos;
  return n;
}

// Everything that holds something: both kinds of region, segments, a group, two-sided messages, both ways to sleep.
void use_all(rank_env& env, int order) {
  alignas(64) std::array<std::uint64_t, 8> words{};
  area user = env.add(std::as_writable_bytes(std::span{words}));
  area shared = env.allocate(100'000);
  const rank_t next = (env.rank + 1) % env.size;
  const std::uint64_t value = 3;
  env.run(put(plain(&value), shared.at(next), 8));
  env.run(put(plain(&value), user.at(next), 8));
  env.submit(signal(user.at(next, 8), 1));
  env.wait_word(user.word(8), 1);
  std::vector<std::byte> token;
  const rank_map all = rank_map::strided(0, env.size);
  multicast& groups = *env.net().mcast();
  if (env.rank == 0) take(groups.create(all, token, time_point::max()), "create");
  const auto tokens = env.exchange(token);
  if (env.rank != 0) take(groups.join(all, (*tokens)[0], time_point::max()), "join");
  while (!env.net().sendrecv()->send(next, {}, std::as_bytes(std::span{&value, 1}))) env.net().progress();
  two_sided::message got;
  env.until_arrival("a message", [&] { return env.net().sendrecv()->receive(got); });
  if (env.net().arm_fd()) env.net().disarm();
  env.net().health(next);
  if (order == 1) env.drop(shared), env.drop(user);
  if (order == 2) env.net().drop(shared.region), env.net().drop(user.segment);
  if (order == 3) env.net().drop(shared.segment), env.net().drop(user.region);
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_left_in_any_order_of_teardown) {
  for (int order = 0; order < 4; ++order)
    run_ranks(shm, 3, [order](rank_env& env) {
      env.close();  // what the harness opened
      env.barrier();
      const int descriptors = open_descriptors();
      require_equal(mappings(), 0, "mappings before");
      for (int turn = 0; turn < 3; ++turn) {
        env.open(take(find_provider("shm")->impl->open({{}, env.boot.job_id(), env.rank, env.size}), "open"));
        use_all(env, order);
        require(mappings() > 0, "this test sees mappings");
        env.barrier();
        env.close();
        require_equal(mappings(), 0, "mappings after");
        require_equal(open_descriptors(), descriptors, "descriptors after");
        require(shared_files(env.place().name()).empty(), "nothing in /dev/shm");
        env.barrier();
      }
    });
}

BOOST_AUTO_TEST_CASE(nothing_is_left_by_a_kill) {
  run_ranks(shm, 3, [](rank_env& env) {
    use_all(env, 0);
    env.barrier();
    if (env.rank == 1) raise(SIGKILL);
    while (env.net().health(1).ok()) env.net().progress();
    env.close();
    require_equal(mappings(), 0, "the survivors hold nothing of the dead");
    require(shared_files(env.place().name()).empty(), "nor does /dev/shm");
  }, {.to_die = {1}});
}

// Refused before the kernel is asked: shared memory counts for nobody until it is too late for everybody.
BOOST_AUTO_TEST_CASE(more_memory_than_there_is_is_refused_with_nothing_changed) {
  run_ranks(shm, 1, [](rank_env& env) {
    const int descriptors = open_descriptors();
    const long before = mappings();
    for (const std::size_t bytes : {std::size_t{1} << 45, std::size_t{1} << 62, ~std::size_t{0}}) {
      std::span<std::byte> memory;
      const auto r = env.net().allocate(bytes, memory);
      require(!r && r.error().code() == errc::no_resource, "refused");
      require(std::string_view{r.error().text()}.find("free memory") != std::string_view::npos, "with the remedy");
    }
    require_equal(mappings(), before, "mappings");
    require_equal(open_descriptors(), descriptors, "descriptors");
  });
}

// A job may have thousands of teams: their memory shares files and mappings, and goes with them.
BOOST_AUTO_TEST_CASE(many_small_regions_take_few_files_and_mappings) {
  run_ranks(shm, 3, [](rank_env& env) {
    for (rank_t r = 0; r < env.size; ++r) (void)env.net().health(r);  // which opens what watches the peers
    const int descriptors = open_descriptors();
    const long before = mappings();
    const rank_t next = (env.rank + 1) % env.size;
    std::vector<area> all;
    for (std::uint64_t i = 0; i < 120; ++i) {
      all.push_back(env.allocate(64 + i % 7 * 4000));
      env.submit(signal(all.back().at(next), i + 1));
    }
    for (std::uint64_t i = 0; i < all.size(); ++i) env.wait_word(all[i].word(), i + 1);
    require(open_descriptors() <= descriptors + 25, "a few files");
    require(mappings() <= before + 50, "a few mappings, of mine and of a peer");
    env.barrier();
    for (area& a : all) env.drop(a);
    env.barrier();
    env.allocate(64);
    require(open_descriptors() <= descriptors + 1, "files that are not used are closed");
    require(mappings() <= before + 2, "and mapped no more");
  });
}

// A late member of a team that failed may still write where the others have dropped the memory.
BOOST_AUTO_TEST_CASE(memory_that_a_peer_may_still_write_is_nobody_elses) {
  run_ranks(shm, 2, [](rank_env& env) {
    const std::uint64_t value = 7;
    for (int round = 0; round < 3; ++round) {
      area old = env.allocate(1000), untouched = env.allocate(1000);
      env.run(put(plain(&value), old.at(1 - env.rank), 8));
      env.barrier();
      std::byte* const was = old.memory.data();
      env.net().drop(old.region), env.net().drop(untouched.region);
      env.barrier();
      std::vector<area> later;
      for (int i = 0; i < 20; ++i) later.push_back(env.allocate(1000));
      env.barrier();
      env.run(put(plain(&value), old.at(1 - env.rank, 500), 8));
      completion done;
      env.submit(put(plain(&value), untouched.at(1 - env.rank), 8, &done));
      env.wait_idle(done);
      require(done.outcome().code() == errc::invalid, "whoever has never been there finds it dropped");
      env.barrier();
      for (const area& a : later) {
        require(a.memory.data() != was, "it has not been given out");
        require(std::ranges::all_of(a.memory, [](std::byte b) { return b == std::byte{0}; }), "the others' writes are not here");
      }
      env.net().drop(old.segment), env.net().drop(untouched.segment);
      env.barrier();
      bool again = false;
      for (int i = 0; i < 3; ++i) later.push_back(env.allocate(1000)), again |= later.back().memory.data() == was;
      require(again, "once they have let go it is");
      require(std::ranges::all_of(later.back().memory, [](std::byte b) { return b == std::byte{0}; }), "and is zeroed");
      env.barrier();
      for (area& a : later) env.drop(a);
    }
  });
}
