// What every provider must do is tested by conformance. Here is what is UCX's own: two ways into a peer's memory that
// must keep one order, connections that are opened late, vendor's words in errors, and nothing left behind.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/transport/provider.h"
#include "tests/harness/fabrics.h"

using namespace tutti;
using namespace tutti::test;

namespace {

const fabric_spec tcp{"ucx:tcp"}, shm{"ucx:shm"};
const fabric_spec all[] = {tcp, shm, {"ucx"}};

std::size_t sockets() {
  std::size_t n = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    n += std::filesystem::read_symlink(entry.path(), gone).native().starts_with("socket:");
  return n;
}

// System V segments that one of these processes made and that are still there.
bool segments_of(const pid_t* pids, std::size_t n) {
  std::ifstream table{"/proc/sysvipc/shm"};
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream in{line};
    long key, id, perms, size, creator;
    in >> key >> id >> perms >> size >> creator;
    if (std::find(pids, pids + n, creator) != pids + n) return true;
  }
  return false;
}

struct shared_pids {
  pid_t* at = static_cast<pid_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  shared_pids() = default;
  shared_pids(const shared_pids&) = delete;
  ~shared_pids() { munmap(at, 4096); }
};

}  // namespace

// UCX answers a connection by itself; the answer may not have gone out when its peer dies, or this rank closes.
BOOST_AUTO_TEST_CASE(a_peer_killed_while_it_connects_takes_nobody_with_it) {
  // Not on tcp, where UCX still aborts once in some hundred such deaths: providers/ucx/link.h.
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    run_ranks(shm, 2, [](rank_env& env) {
      const area a = env.allocate(4096);
      if (env.rank == 1) {
        env.submit(signal(a.at(0), 1));
        const auto end = env.net().now() + std::chrono::microseconds{env.random() % 2000};
        while (env.net().now() < end) env.net().progress();
        raise(SIGKILL);
      }
      env.until("rank 1 to be dead", [&] { return env.net().health(1).code() == errc::peer_dead; });
    }, {.seed = seed, .to_die = {1}});
}

BOOST_AUTO_TEST_CASE(a_rank_leaves_while_its_peers_connect) {
  for (const auto& fabric : {tcp, shm})
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
      run_ranks(fabric, 4, [](rank_env& env) {
        const area a = env.allocate(4096);
        completion done;
        if (env.rank != 0) env.submit(signal(a.at(0), 1, signal_how::add, not_before::payload, &done));
        env.pause(std::chrono::microseconds{env.random() % 1000});
        env.close();
      }, {.seed = seed});
}

// UCX crashes when it maps memory that is gone.
BOOST_AUTO_TEST_CASE(the_first_operation_upon_memory_that_was_dropped_is_refused) {
  for (const auto& fabric : all) run_ranks(fabric, 2, [](rank_env& env) {
    const area words = env.allocate(64);
    if (env.rank == 1) env.run(signal(words.at(0), 1));  // they have met
    env.barrier();
    for (int i = 0; i < 200; ++i) {
      area a = env.allocate(4096);
      if (i % 2) env.barrier();  // else: dropped while it is being mapped
      if (env.rank == 0) env.net().drop(a.region);
      if (i % 4 == 3) env.barrier();
      if (env.rank == 1) {
        completion done;
        env.submit(get(words.mine(8), a.at(0), 8, &done));
        env.wait_idle(done);
        if (i % 4 == 3) require(done.outcome().code() == errc::invalid, "a get from memory that is gone");
      }
      env.barrier();
      if (env.rank == 0) env.net().drop(a.segment);
      else env.drop(a);
    }
  });
}

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

// UCX's hooks would send the program's memory to address 0.
BOOST_AUTO_TEST_CASE(memory_that_the_program_moves_goes_where_it_says) {
  for (const auto& fabric : all) run_ranks(fabric, 2, [](rank_env& env) {
    constexpr std::size_t bytes = 1 << 20;
    const area a = env.allocate(bytes);
    const std::vector<std::byte> source(bytes, std::byte{7});
    env.submit(put(plain(source.data()), a.at(1 - env.rank), bytes));
    env.flush(1 - env.rank);
    env.barrier();
    const auto map = [] { return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); };
    void *const from = map(), *const to = map();
    *static_cast<char*>(from) = 7;
    void* const got = ::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    require(got == to && *static_cast<char*>(got) == 7, "the memory is where it was asked for");
    ::munmap(to, bytes);
  });
}

// Memory of the caller's own is reached by messages, memory from the transport directly where it can be mapped. A
// direct signal must not overtake what goes by message, nor go back behind a signal that had to go by message.
BOOST_AUTO_TEST_CASE(direct_signals_do_not_overtake_messages) {
  for (const auto& fabric : all) run_ranks(fabric, 2, [](rank_env& env) {
    constexpr std::uint32_t bytes = 100'000;
    std::vector<std::byte> mine(bytes), source(bytes);
    const area payload = env.add(mine), words = env.allocate(64);
    const rank_t other = 1 - env.rank;
    for (std::uint64_t round = 1; round <= 200; ++round) {
      if (env.rank == 0) {
        std::memset(source.data(), static_cast<int>(round), bytes);
        completion sent;
        env.submit(put(plain(source.data()), payload.at(other), bytes, &sent));
        env.submit(signal(words.at(other), 3 * round, signal_how::set, not_before::everything));
        env.submit(signal(words.at(other), 3 * round + 1));
        env.submit(signal(words.at(other, 8), round));
        env.wait(sent);
        env.wait_word(words.word(), round);
      } else {
        env.wait_word(words.word(), 3 * round);
        for (const std::uint32_t at : {0u, bytes / 2, bytes - 1})
          require_equal(std::to_integer<unsigned>(mine[at]), round & 255, "the payload behind a signal");
        env.wait_word(words.word(8), round);
        require_equal(load(words.word()), 3 * round + 1, "the later of two signals to one word");
        env.submit(signal(words.at(other), round));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(connections_are_opened_by_use) {
  run_ranks(tcp, 8, [](rank_env& env) {
    const area a = env.allocate(64);
    const std::size_t before = sockets();
    env.barrier();
    env.progress_for_a_moment();
    require_equal(sockets(), before, "sockets before the first operation");
    env.barrier();
    env.submit(signal(a.at((env.rank + 1) % env.size), 1));
    env.wait_word(a.word(), 1);
    env.barrier();
    require(sockets() <= before + 4, "more connections than two neighbours need");
  });
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_here_is_unavailable_in_the_vendors_words) {
  const auto report = run_processes(1, true, {}, [](meeting&, rank_t, std::uint32_t) {
    const auto choice = take(find_provider("ucx:nonsense"), "find_provider");
    open_params p;
    p.device = choice.device, p.job_id = "ucx_test";
    const auto net = choice.impl->open(p);
    require(!net.ok(), "an unknown device was opened");
    require(net.error().code() == errc::unavailable, net.error().text());
    require(std::string_view{net.error().text()}.find("nonsense") != std::string_view::npos, net.error().text());
  });
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(every_probed_device_opens) {
  const auto report = run_processes(1, true, {}, [](meeting&, rank_t, std::uint32_t) {
    const auto choice = take(find_provider("ucx"), "find_provider");
    std::string why_not;
    const auto devices = choice.impl->probe(why_not);
    require(!devices.empty(), why_not);
    require(!why_not.empty() || devices.size() == 3, "a device is missing without a reason");
    for (const auto& device : devices) {
      open_params p;
      p.device = device, p.job_id = "ucx_test";
      take(choice.impl->open(p), device);
    }
  });
  BOOST_TEST(report.passed(), report.text());
}

BOOST_AUTO_TEST_CASE(nothing_is_left_in_the_system) {
  const shared_pids pids;
  const auto body = [&](rank_env& env) {
    pids.at[env.rank] = getpid();
    const area a = env.allocate(1 << 16);
    env.submit(signal(a.at((env.rank + 1) % env.size), 1));
    env.wait_word(a.word(), 1);
    env.barrier();
  };
  run_ranks(shm, 3, body);
  BOOST_TEST(!segments_of(pids.at, 3), "after an orderly end");

  run_options o;
  o.to_die = {1};
  run_ranks(shm, 3, [&](rank_env& env) {
    body(env);
    if (env.rank == 1) kill(getpid(), SIGKILL);
    env.until("the death of rank 1", [&] { return env.net().health(1).failed(); });
  }, o);
  BOOST_TEST(!segments_of(pids.at, 3), "after a death");
}
