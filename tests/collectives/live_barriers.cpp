// Barriers on every fabric that works here, bound, executed and waited for as users do.
// live_barriers [Boost.Test's options] [-- [--fabric NAME] [--ranks MOST]]
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

#include "core/transport/offload.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;

std::vector<std::uint32_t> everyone(std::uint32_t n) {
  std::vector<std::uint32_t> list(n);
  for (std::uint32_t i = 0; i < n; ++i) list[i] = i;
  return list;
}

bool can_run(const algorithm& a, job& j) {
  return (!a.needs.multicast || j.net().mcast()) && (!a.needs.offload || j.net().offloader());
}

// Those around powers of two, where algorithms differ; every other size runs without a network, in barrier_schedules.
std::vector<std::uint32_t> sizes() {
  const auto most = static_cast<std::uint32_t>(std::stoul(argument("--ranks", "16")));
  std::vector<std::uint32_t> all;
  for (const std::uint32_t n : listed({2u, 3u, 5u, 8u, 16u}, {1u, 4u, 9u}))
    if (n <= most) all.push_back(n);
  return all;
}

// What works here, and the simulated worlds: exact, wild, with progress by the target, with nodes.
std::vector<fabric_spec> all_fabrics() {
  auto all = wanted_fabrics();
  if (argument("--fabric").empty())
    for (const fabric_spec& f : sim_fabrics()) all.push_back(f);
  return all;
}

// Every rank here before any leaves, driving the whole job meanwhile: a multicast root owes repairs until then.
void leave(communicator& world, rank_env& env) {
  require(world.group().exchange({}).error(), "leaving");
  env.barrier();
}

void arrive_at_random(rank_env& env) {
  if (env.random() % 8 == 0) env.pause(std::chrono::microseconds(env.random() % 300));
}

// So many barriers of the team, which this rank enters late at random, in the books from base + 1 on.
void meet(rank_env& env, communicator& team, const attendance& books, std::uint64_t base, std::uint64_t times, std::string_view what) {
  for (std::uint64_t e = 1; e <= times; ++e) {
    arrive_at_random(env);
    books.enter(env.rank, base + e);
    require(team.barrier().enter(), what);
    books.left(base + e);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_algorithm_holds_at_every_size) {
  for (const fabric_spec& fabric : all_fabrics())
    for (const std::uint32_t n : sizes()) {
      const attendance books(n);
      run_ranks(fabric, n, [&](rank_env& env) {
        auto j = open_job(env);
        auto world = take(communicator::world(*j, {}), "world");
        std::uint64_t base = 0;
        for (const algorithm& a : algorithms(collective::barrier)) {
          if (!can_run(a, *j)) continue;
          auto team = take(world->create(everyone(n), {.barrier = std::string(a.name)}), a.name);
          meet(env, *team, books, base, 40, a.name);
          base += 100;
          require(world->barrier().enter(), "between");
        }
        leave(*world, env);
      });
    }
}

BOOST_AUTO_TEST_CASE(epochs_wrap) {
  for (const fabric_spec& fabric : all_fabrics()) {
    const std::uint32_t n = 5;
    const attendance books(n);
    run_ranks(fabric, n, [&](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      std::uint64_t base = 0;
      for (const algorithm& a : algorithms(collective::barrier)) {
        if (!can_run(a, *j)) continue;
        auto team = take(world->create(everyone(n), {.barrier = std::string(a.name), .first_epoch = ~std::uint64_t{0} - 3}),
                         a.name);
        meet(env, *team, books, base, 12, a.name);
        base += 100;
        leave(*team, env);
      }
    });
  }
}

namespace {

// Nodes that the ranks of one machine are taken to be on, so that a hierarchical barrier has leaders. Node of each rank.
struct made_up_nodes {
  const char* name;
  std::uint32_t (*node)(std::uint32_t rank, std::uint32_t size);
};
constexpr made_up_nodes ways_to_sit[] = {
    {"two halves", [](std::uint32_t r, std::uint32_t n) { return r / ((n + 1) / 2); }},
    {"three in turns", [](std::uint32_t r, std::uint32_t) { return r % 3; }},
    {"one alone, two, and the rest", [](std::uint32_t r, std::uint32_t) { return std::uint32_t{r > 0} + (r > 2); }},
    {"the last alone", [](std::uint32_t r, std::uint32_t n) { return std::uint32_t{r + 1 == n}; }},
};

}  // namespace

BOOST_AUTO_TEST_CASE(hierarchical_barriers_over_several_nodes) {
  const auto there = all_fabrics();
  for (const fabric_spec& fabric : {fabric_spec{"shm"}, fabric_spec{"ucx:tcp"}}) {
    if (std::none_of(there.begin(), there.end(), [&](const fabric_spec& f) { return f.name == fabric.name; })) continue;
    for (const made_up_nodes& seats : ways_to_sit)
      for (const std::uint32_t n : listed({3u, 6u}, {2u, 5u, 9u})) {
        const attendance books(n);
        run_ranks(fabric, n, [&](rank_env& env) {
          host_id host{};
          host[0] = std::byte(1 + seats.node(env.rank, n));
          auto j = open_job(env, {}, host);
          auto world = take(communicator::world(*j, {}), "world");
          std::set<std::uint32_t> wanted;
          for (std::uint32_t r = 0; r < n; ++r) wanted.insert(seats.node(r, n));
          const auto seen = world->group().nodes();
          require_equal(std::set<std::uint32_t>(seen.begin(), seen.end()).size(), wanted.size(), "nodes that the job sees");
          std::uint64_t base = 0;
          for (const algorithm& among : algorithms(collective::barrier)) {
            if (among.needs.nodes || among.needs.offload || !can_run(among, *j)) continue;
            const std::string name = "hierarchical:" + std::string(among.name);
            auto team = take(world->create(everyone(n), {.barrier = name}), name);
            require(team->barrier().choice().inner == among.name, "the leaders' algorithm");
            meet(env, *team, books, base, 20, name + ", " + seats.name);
            base += 100;
            leave(*team, env);
          }
          require(base >= 600, "at least six algorithms ran among the leaders");
          leave(*world, env);
        }, {.timeout = std::chrono::seconds(120) * time_scale});
      }
  }
}

// Back to back, so that a fast rank runs into the next epoch while a slow one has not left the last. Where ranks outnumber
// cores an epoch costs a change of processes, a hundred times what it costs two; the counter is what runs there. So it does
// on an oversubscribed machine: after `longest` rank 0 says where to end. Nobody else is past the epoch that it is about to
// enter, and all see what it wrote before they leave that one.
static void million_epochs(std::string_view name, std::uint32_t n) {
  const std::uint64_t epochs = 1000000 / (time_scale * time_scale);
  const auto longest = std::chrono::seconds(whole_list() ? 40 : 5);
  const attendance books(n);
  const shared_words last(1);
  last[0] = epochs;
  run_ranks({"shm"}, n, [&](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {.barrier = std::string(name)}), name);
    const time_point end = env.net().now() + longest;
    for (std::uint64_t e = 1; e <= last[0]; ++e) {
      if (env.rank == 0 && e % 1024 == 0 && last[0] == epochs && env.net().now() > end) last[0] = std::min(e + 1, epochs);
      books.enter(env.rank, e);
      require(team->barrier().enter(), name);
      books.left(e);
    }
    leave(*team, env);
  }, {.timeout = std::chrono::seconds(300)});
  BOOST_TEST_MESSAGE(name << ", " << n << " ranks: " << last[0] << " epochs");
}

BOOST_AUTO_TEST_CASE(a_million_epochs_in_shared_memory) {
  std::uint32_t ran = 0;
  for (const algorithm& a : algorithms(collective::barrier)) {
    if (a.needs.offload) continue;  // shared memory runs nothing by itself
    million_epochs(a.name, 2);
    ++ran;
  }
  BOOST_TEST(ran >= 8u);
  million_epochs("counter", 4);
}

BOOST_AUTO_TEST_CASE(nonblocking_barriers_complete_in_order) {
  for (const fabric_spec& fabric : all_fabrics()) {
    const std::uint32_t n = 4;
    const attendance books(n);
    run_ranks(fabric, n, [&](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      team_barrier& b = world->barrier();
      std::uint64_t entered = 0;
      for (int round = 0; round < 30; ++round) {
        std::vector<std::uint64_t> requests;
        const std::uint64_t burst = 1 + env.seed % 3 + round % 3;
        for (std::uint64_t k = 0; k < burst; ++k) {
          books.enter(env.rank, ++entered);
          requests.push_back(b.start());
        }
        arrive_at_random(env);
        for (std::uint64_t k = 0; k < burst; ++k) {
          require(b.wait(requests[k]), "wait");
          books.left(entered - burst + k + 1);
          require(b.test(requests[k]), "a finished barrier stays finished");
        }
      }
      leave(*world, env);
    });
  }
}

// Overlapping teams, entered in different orders by different ranks without blocking: none may wait for another.
BOOST_AUTO_TEST_CASE(overlapping_teams_do_not_wait_for_each_other) {
  for (const fabric_spec& fabric : all_fabrics()) {
    const std::uint32_t n = 6;
    run_ranks(fabric, n, [&](rank_env& env) {
      auto j = open_job(env);
      auto world = take(communicator::world(*j, {}), "world");
      // Halves, odd and even, and a window of four that crosses both.
      auto half = take(world->split(env.rank < 3, 0, {}), "half");
      auto parity = take(world->split(static_cast<std::int32_t>(env.rank % 2), -static_cast<std::int32_t>(env.rank), {}), "parity");
      std::vector<std::uint32_t> middle{1, 2, 3, 4};
      auto window = take(world->create(env.rank >= 1 && env.rank <= 4 ? middle : std::vector<std::uint32_t>{}, {}), "window");
      require_equal(parity->group().index(), 2 - env.rank / 2, "ordered by descending rank");
      require((window != nullptr) == (env.rank >= 1 && env.rank <= 4), "who joined the window");
      std::vector<communicator*> all{world.get(), half.get(), parity.get()};
      if (window) all.push_back(window.get());
      for (int round = 0; round < 40; ++round) {
        std::shuffle(all.begin(), all.end(), env.random);
        std::vector<std::pair<communicator*, std::uint64_t>> open;
        for (communicator* c : all) open.emplace_back(c, c->barrier().start());
        std::shuffle(open.begin(), open.end(), env.random);
        for (auto& [c, request] : open) require(c->barrier().wait(request), "wait");
      }
      // A blocking barrier on one team while a nonblocking one on another needs this rank's help.
      for (int round = 0; round < 20; ++round) {
        const std::uint64_t request = world->barrier().start();
        require(half->barrier().enter(), "half");
        require(parity->barrier().enter(), "parity");
        require(world->barrier().wait(request), "world");
      }
      leave(*world, env);
    });
  }
}

BOOST_AUTO_TEST_CASE(lists_that_make_no_team_are_refused) {
  run_ranks({"shm"}, 3, [&](rank_env& env) {
    auto j = open_job(env);
    auto world = take(communicator::world(*j, {}), "world");
    auto refused = [&](std::vector<std::uint32_t> list, const char* word) {
      auto r = world->create(list, {});
      require(!r.ok() && r.error().code() == errc::invalid, "refused");
      require(std::string(r.error().text()).find(word) != std::string::npos, r.error().text());
    };
    refused({0, 1, 7}, "7");
    refused({0, 1, 2, 1}, "twice");
    if (env.rank == 2) refused({0, 1}, "lacks the caller");
    else require(take(world->create(std::vector<std::uint32_t>{0, 1}, {}), "the others get their team") != nullptr, "team");
    // Lists that disagree are found out by those who are named.
    std::vector<std::uint32_t> list = env.rank == 0 ? std::vector<std::uint32_t>{0, 1, 2} : std::vector<std::uint32_t>{1, 2, 0};
    auto r = world->create(list, {});
    require(!r.ok() && r.error().code() == errc::invalid, "disagreeing lists");
    require(world->barrier().enter(), "the parent still works");
    env.barrier();
  });
}

// Of what peers send no more is read than came.
BOOST_AUTO_TEST_CASE(other_calls_than_the_peers_are_told) {
  run_ranks({"shm"}, 3, [&](rank_env& env) {
    auto j = open_job(env);
    auto world = take(communicator::world(*j, {}), "world");
    const auto told = [&](const char* name, auto&& call) {
      if (env.rank == 0) return (void)take(world->group().exchange({}), "exchange");
      const status s = call().error();
      require(s.code() == errc::protocol && s.peer() == 0 && std::string(s.text()).find("rank 0") != std::string::npos, name);
    };
    told("split", [&] { return world->split(0, 0, {}); });
    told("create", [&] { return world->create(std::vector<std::uint32_t>{0, 1, 2}, {}); });
    require(world->barrier().enter(), "the team still works");
    env.barrier();
  });
}
