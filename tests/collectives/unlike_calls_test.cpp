// Members that call different collectives: nobody waits for ever, and the errors say who calls what.
#define BOOST_TEST_MODULE unlike_calls
#include <boost/test/unit_test.hpp>

#include "core/job/window.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct kind {
  const char* name;
  const char* said;
  std::function<status(communicator&)> call;
};

const kind kinds[] = {
    {"barrier", "a barrier", [](communicator& c) { return c.barrier().enter(); }},
    {"ibarrier", "a barrier", [](communicator& c) { return c.barrier().wait(c.barrier().start()); }},
    {"broadcast", "a broadcast of 64 bytes with root 0",
     [](communicator& c) {
       std::byte data[64]{};
       return c.broadcast(0, data);
     }},
    {"allreduce", "an allreduce of 8 bytes (sum of uint64)",
     [](communicator& c) {
       std::byte data[8]{};
       return c.run({.of = collective::allreduce, .bytes = 8, .in = data, .out = data, .op = *find_reduction(datatype::uint64, operation::sum)});
     }},
    {"split", "tutti_team_split",
     [](communicator& c) {
       auto made = c.split(0, 0, {});
       return made.error();
     }},
    {"window", "tutti_window_create",
     [](communicator& c) {
       (void)c.enter(call_kind::window_create);
       return window::open(c.group(), {nullptr, 100}).error();
     }},
    {"leave", "tutti_finalize",
     [](communicator& c) {
       (void)c.enter(call_kind::leave);
       return c.group().settle();
     }},
};

}  // namespace

BOOST_AUTO_TEST_CASE(nobody_waits_for_ever) {
  for (const char* algorithm : {"dissemination", "counter"})
    for (const bool warm : {false, true})
      for (const kind& many : kinds)
        for (const kind& one : kinds) {
          if (std::string_view(many.said) == one.said) continue;
          const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 1), [&](rank_env& env) {
            auto j = open_job(env);
            auto team = take(communicator::world(*j, {.barrier = algorithm}), "world");
            if (warm) {
              std::byte data[64]{};
              require(team->broadcast(1, data), "while all agree");
              require(team->barrier().enter(), "while all agree");
            }
            const time_point before = env.net().now();
            const status s = (env.rank == 2 ? one : many).call(*team);
            require(env.net().now() - before < std::chrono::seconds(5), "soon");
            // Whoever came through needed nobody that calls another; who did not says why, and one of them names both calls.
            const std::string mine = s.ok() ? "" : s.text();
            const auto said = env.exchange(std::as_bytes(std::span(mine)));
            bool named = false;
            std::string all;
            for (std::size_t r = 0; r < said->size(); ++r) {
              const std::string text(reinterpret_cast<const char*>((*said)[r].data()), (*said)[r].size());
              named = named || (text.find(many.said) != text.npos && text.find(one.said) != text.npos) ||
                      text.find("called something else; all members must make the same") != text.npos;  // both by an exchange
              all += " | " + text;
            }
            require(named, "one of them names both:" + all);
          }, {});
          BOOST_TEST(report.passed(), many.name << " against " << one.name << ", " << algorithm << ": " << report.text());
        }
}

BOOST_AUTO_TEST_CASE(late_is_not_wrong) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 1), [&](rank_env& env) {
    auto j = open_job(env);
    auto team = take(communicator::world(*j, {}), "world");
    std::byte data[64]{};
    for (int i = 0; i < 6; ++i) {
      if (env.rank == static_cast<std::uint32_t>(i) % 4) env.pause(std::chrono::seconds(2));
      require(team->barrier().enter(), "barrier");
      require(team->broadcast(0, data), "broadcast");
      require(take(team->split(0, 0, {}), "split")->barrier().enter(), "barrier of the half");
    }
    require(team->group().settle(), "leaving");
  }, {});
  BOOST_TEST(report.passed(), report.text());
}

// After 5 s, once a call: who is waited for, and where that one is.
BOOST_AUTO_TEST_CASE(who_is_waited_for_is_told) {
  const auto report = try_ranks_simulated(sim_parameters({"sim"}, 3, 1), [&](rank_env& env) {
    std::vector<std::string> notices;
    job_options o;
    o.notice = [&](const std::string& line) { notices.push_back(line); };
    auto j = open_job(env, o);
    auto team = take(communicator::world(*j, {.barrier = "dissemination", .bcast = "binomial"}), "world");
    std::byte data[64]{};
    const auto late = [&](auto&& call, std::string_view waits, std::string_view there) {
      notices.clear();
      if (env.rank == 1) env.pause(std::chrono::seconds(8));
      require(call(), "call");
      if (env.rank == 1) return;
      require(notices.size() == 1, std::to_string(notices.size()) + " notices");
      for (const std::string_view part : {std::string_view("waited 5 s in "), waits, std::string_view("of a team of 3, for rank "), there})
        require(notices[0].find(part) != std::string::npos, "notice: " + notices[0]);
    };
    late([&] { return team->barrier().enter(); }, "a barrier, call 1 ", "which has made ");
    require(team->broadcast(1, data), "while what it needs is made, ranks wait for each other");
    late([&] { return team->broadcast(1, data); }, "a broadcast of 64 bytes with root 1, call 3 ", "which has made 2 there, the last one a broadcast");
    require(team->group().settle(), "leaving");
  }, {});
  BOOST_TEST(report.passed(), report.text());
}
