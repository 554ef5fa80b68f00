// Descriptors, mappings and /dev/shm are as before, whatever was done and however it ended.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
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
