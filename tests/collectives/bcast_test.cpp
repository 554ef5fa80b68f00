// Broadcasts of a team: every algorithm brings every byte, of any size from any root, on any fabric; the choice is pure
// and says why; nothing is allocated while roots and sizes repeat themselves.
// bcast [Boost.Test's options] [-- --fabric NAME --ranks N]: on_every_fabric on this one alone, in teams of N.
#include <boost/test/unit_test.hpp>
#include <algorithm>
#include <cstring>

#include "tests/collectives/rows.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// What the root of a call gives: as many bytes from a place of its own in a long row of them, so that to fill and to compare is to copy
// and memcmp. Rows of two calls differ in all but one byte of 256.
constexpr std::size_t most_bytes = 4 << 20, places = 1 << 16;
std::span<const std::byte> pattern(std::uint64_t epoch, std::uint32_t root, std::size_t bytes) {
  static const std::vector<std::byte> row = [] {
    std::vector<std::byte> out(most_bytes + places);
    std::uint32_t z = 1;
    for (std::byte& b : out) b = std::byte((z = z * 1664525 + 1013904223) >> 24);
    return out;
  }();
  return std::span(row).subspan((epoch * 7919 + root * 104729) % places, bytes);
}

void play(rank_env& env, std::string name) {
  const algorithm& row = row_of(collective::broadcast, name);
  host_id node{};
  if (!row.needs.mapped) node[0] = std::byte(1 + env.rank % 2);
  auto j = open_job(env, {}, node);
  if (!can_run(row, env, *j)) return env.barrier();
  auto team = take(communicator::world(*j, {.bcast = std::move(name)}), "world");
  constexpr std::size_t piece = 64 << 10, run = 16 * piece;
  const std::size_t sizes[] = {1, 0, 8, 4095, piece - 1, piece, piece + 1, 3 * piece + 5, 17, run - 1, run, run + 1, 2 * run + piece + 3, 2};
  std::vector<std::byte> data(3 * run), other(run);
  std::uint64_t epoch = 0;
  for (const std::size_t bytes : sizes)
    for (int turn = 0; turn < (bytes <= 4 * piece ? 3 : 1); ++turn) {
      const auto root = static_cast<std::uint32_t>(++epoch * 7 % env.size);
      if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 100));
      // Memory that moves: what is cached for a size must not keep the address.
      std::byte* const at = (bytes < run && epoch % 2 ? other : data).data();
      const auto expected = pattern(epoch, root, bytes);
      if (env.rank == root) std::ranges::copy(expected, at);
      else std::fill_n(at, bytes, std::byte{0xee});
      require(team->broadcast(root, {at, bytes}), "broadcast");
      if (bytes > 0 && std::memcmp(at, expected.data(), bytes) != 0)
        fail("broadcast " + std::to_string(epoch) + " of " + std::to_string(bytes) + " bytes from " + std::to_string(root) +
             ": byte " + std::to_string(std::ranges::mismatch(std::span(at, bytes), expected).in1 - std::span(at, bytes).begin()) +
             " is wrong at rank " + std::to_string(env.rank));
      if (env.rank == root) std::fill_n(at, bytes, std::byte{0xdd});  // the root's buffer is its own again
    }
  require(team->broadcast(env.size, data).code() == errc::invalid, "no such root");
  require(team->barrier().enter(), "and all is well");
  require(team->group().settle(), "leaving");
  team.reset();
  env.barrier();
}

choice_inputs some_team(std::uint32_t ranks, std::uint64_t bytes) {
  choice_inputs in;
  in.ranks = ranks, in.bytes = bytes;
  in.multicast = true, in.fragment = 4096, in.window = 64, in.multicast_us = 2, in.multicast_bytes_per_ns = 10;
  in.network = in.node = {1, 0.2, 0.1, 10};
  return in;
}

std::string_view winner(const choice_inputs& in) { return take(choose(collective::broadcast, in), "choice").front().row->name; }

}  // namespace

BOOST_AUTO_TEST_CASE(every_algorithm_on_the_simulated_fabric) {
  const std::vector<std::string> all = names(collective::broadcast);
  const std::vector<std::uint32_t> sizes = listed({1u, 2u, 3u, 7u, 16u}, {4u, 13u});
  one_in some(2, {all.size(), sizes.size()});
  for (const char* fabric : {"sim", "sim:wild", "sim:tcp"})
    for (const std::uint32_t n : sizes)
      for (const std::string& name : all) {
        if (!some()) continue;
        sim::parameters p = sim_parameters({fabric}, n, n);
        if (row_of(collective::broadcast, name).needs.mapped) p.maps_node = true, p.ranks_per_node = n;
        (void)pattern(0, 0, 0);  // made once, before ranks fork
        const auto report = try_ranks_simulated(p, [&](rank_env& env) { play(env, name); },
                                                {.timeout = std::chrono::seconds(60) * time_scale, .seed = n});
        BOOST_TEST(report.passed(), fabric << ", " << n << " ranks, " << name << ": " << report.text());
      }
}

// Of rank 1, which alone is told by the fabric: while teams and windows are made, or a broadcast runs. Nobody waits for ever.
BOOST_AUTO_TEST_CASE(an_operation_that_fails_ends_the_broadcast_in_all) {
  const std::pair<std::string, int> cases[] = {{"binomial", 44}, {"chain", 44}, {"scatter_allgather", 44}, {"multicast", 20}};
  for (const auto& [name, most] : cases)
    for (int failing = 1; failing <= most; ++failing)
      run_ranks({"failing" + std::to_string(failing) + "(shm)"}, 4, [&, algorithm = name](rank_env& env) {
        auto j = open_job(env);
        auto team = take(communicator::world(*j, {.bcast = algorithm}), "world");
        std::vector<std::byte> data(3000);
        status s;
        for (std::uint32_t epoch = 0; s.ok() && epoch < 100; ++epoch) s = team->broadcast(epoch % env.size, data);
        require(s.failed(), "told");
        env.barrier();
      });
}

BOOST_AUTO_TEST_CASE(on_every_fabric) {
  constexpr collective all[] = {collective::broadcast};
  (void)pattern(0, 0, 0);
  on_every_fabric_by_each(all, [](rank_env& env, collective, const std::string& name) { play(env, name); });
}

// Members that give different numbers of bytes, in their first broadcast or a later one: all of them are told, and by
// whom and which, whether the algorithms are alike or not, and though nobody would wait for anything.
BOOST_AUTO_TEST_CASE(numbers_of_bytes_that_differ_are_named) {
  struct numbers {
    std::size_t usual, strange;
  };
  constexpr std::uint32_t n = 5;
  one_in some(3);
  for (const char* fabric : {"sim", "sim:wild", "sim:tcp", "shm"})
    for (const std::string name : {"eager", "binomial", "chain", "multicast", ""})
      for (const numbers& bytes : {numbers{8, 16}, {17, 0}, {65536, 131072}, {3 << 20, 1 << 20}, {2, 4 << 20}})
        for (const std::uint32_t odd : {1u, 4u})
          for (const bool later : {false, true}) {
            if (std::string(fabric) == "shm" && odd == 4 && later) continue;  // enough of what takes real time
            if (!some()) continue;
            const auto play = [&](rank_env& env) {
              auto j = open_job(env);
              auto team = take(communicator::world(*j, {.bcast = name}), "world");
              std::vector<std::byte> data(4 << 20);
              if (later)
                for (const std::size_t same : {std::size_t{1}, data.size()})
                  require(team->broadcast(1, std::span(data).first(same)), "while all agree");
              const time_point deadline = env.net().now() + std::chrono::seconds(40) * time_scale;
              status s = team->broadcast(1, std::span(data).first(env.rank == odd ? bytes.strange : bytes.usual), deadline);
              for (int i = 0; i < 100 && s.ok(); ++i) s = team->broadcast(1, std::span(data).first(bytes.usual), deadline);
              const std::string text = s.text();
              require(s.code() == errc::protocol, "no error, or another: " + text);
              for (const std::size_t given : {bytes.usual, bytes.strange})
                require(text.find(" " + std::to_string(given) + " bytes with root 1") != std::string::npos, "it names both: " + text);
              require(text.find("must be alike in all members") != std::string::npos, "and the remedy: " + text);
              env.barrier();
            };
            const run_options limits{.timeout = std::chrono::seconds(60) * time_scale};
            const auto report = std::string(fabric) == "shm" ? try_ranks({"shm"}, n, play, limits)
                                                             : try_ranks_simulated(sim_parameters({fabric}, n, n), play, limits);
            BOOST_TEST(report.passed(), fabric << ", " << name << ", " << bytes.usual << " and at rank " << odd << " " << bytes.strange
                                               << (later ? ", later: " : ": ") << report.text());
          }
}

// So are different roots; and who has a deadline is told what it waited for.
BOOST_AUTO_TEST_CASE(roots_that_differ_are_named) {
  for (const char* name : {"binomial", "chain", "multicast"}) {
    const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 1), [&](rank_env& env) {
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {.bcast = name}), "world");
      std::vector<std::byte> data(100);
      require(team->broadcast(0, data), "while all agree");
      status s;
      for (int i = 0; i < 100 && s.ok(); ++i) s = team->broadcast(env.rank == 2 ? 3 : 0, data);
      const std::string text = s.text();
      require(s.code() == errc::protocol && text.find("100 bytes with root 0") != std::string::npos &&
                  text.find("100 bytes with root 3") != std::string::npos, "it names both: " + text);
      env.barrier();
    }, {});
    BOOST_TEST(report.passed(), name << ": " << report.text());
  }
}

// Several under way, of all sizes and from all roots, between barriers that are under way as well.
BOOST_AUTO_TEST_CASE(many_at_once_in_the_order_of_the_calls) {
  for (const char* name : {"binomial", "chain", "multicast", ""})
    for (const std::uint32_t n : {1u, 2u, 5u, 8u}) {
      const auto report = try_ranks_simulated(sim_parameters({"sim:wild"}, n, n), [&](rank_env& env) {
        auto j = open_job(env);
        auto team = take(communicator::world(*j, {.bcast = name}), "world");
        constexpr std::size_t sizes[] = {8, 0, 100'000, 1, 3 << 19, 70'000, 8};
        for (std::uint64_t round = 0; round < 3; ++round) {
          std::vector<std::vector<std::byte>> data;
          std::vector<std::uint64_t> broadcasts, barriers;
          for (std::size_t k = 0; k < std::size(sizes); ++k) {
            const auto root = static_cast<std::uint32_t>((k + round) % env.size);
            auto& d = data.emplace_back(sizes[k]);
            if (env.rank == root) std::ranges::copy(pattern(round * 100 + k, root, d.size()), d.begin());
            else std::ranges::fill(d, std::byte{0xee});
            if (env.random() % 3 == 0) env.pause(std::chrono::microseconds(env.random() % 50));
            broadcasts.push_back(take(team->start({.root = root, .bytes = d.size(), .out = d.data()}), "start"));
            barriers.push_back(team->barrier().start());
          }
          // Waited for in an order of its own by each rank.
          for (std::size_t k = 0; k < std::size(sizes); ++k) {
            const std::size_t i = env.rank % 2 ? k : std::size(sizes) - 1 - k;
            require(team->data().wait(broadcasts[i]), "broadcast");
            require(team->barrier().wait(barriers[i]), "barrier");
            for (std::size_t later = 0; later <= i; ++later) require(team->data().test(broadcasts[later]), "in order");
          }
          for (std::size_t k = 0; k < std::size(sizes); ++k)
            require(std::ranges::equal(data[k], pattern(round * 100 + k, static_cast<std::uint32_t>((k + round) % env.size), sizes[k])), "what came");
        }
        require(team->finish(), "all");
        require(team->group().settle(), "leaving");
      }, {.timeout = std::chrono::seconds(60) * time_scale, .seed = n});
      BOOST_TEST(report.passed(), name << ", " << n << " ranks: " << report.text());
    }
}

BOOST_AUTO_TEST_CASE(a_deadline_names_the_bytes) {
  for (const char* name : {"binomial", "chain", "multicast"})
    for (const bool later : {false, true}) {
      const auto report = try_ranks_simulated(sim_parameters({"sim"}, 3, 1), [&](rank_env& env) {
        auto j = open_job(env);
        auto team = take(communicator::world(*j, {.bcast = name}), "world");
        std::vector<std::byte> data(100000);
        require(team->broadcast(0, std::span(data).first(later ? data.size() : 0)), "while all come");
        if (env.rank != 1) {
          status s;
          for (int i = 0; i < 100 && s.ok(); ++i) s = team->broadcast(1, data, env.net().now() + std::chrono::milliseconds(300));
          const std::string text = s.text();
          require(s.code() == errc::timed_out && text.find("this rank calls a broadcast of 100000 bytes with root 1") != std::string::npos, text);
        }
        env.barrier();
      }, {});
      BOOST_TEST(report.passed(), name << ": " << report.text());
    }
}

// Its memory is its caller's again: who comes late gets an error, and not what lies there by then.
BOOST_AUTO_TEST_CASE(memory_of_a_root_that_has_given_up_is_not_read) {
  for (const char* fabric : {"sim", "shm", "ucx:tcp"})
    run_ranks({fabric}, 2, [&](rank_env& env) {
      auto j = open_job(env);
      auto team = take(communicator::world(*j, {.bcast = "direct"}), "world");
      std::vector<std::byte> data(100000);
      require(team->broadcast(0, data), "while all come");
      status s;
      if (env.rank == 0) {
        s = team->broadcast(0, data, env.net().now() + std::chrono::milliseconds(300));
        require(s.code() == errc::timed_out, s.text());
        std::ranges::fill(data, std::byte{1});
      }
      env.barrier();
      if (env.rank == 1) s = team->broadcast(0, data, env.net().now() + std::chrono::seconds(5));
      require(s.failed(), "a late member's broadcast");
      for (const std::byte b : data)
        if (env.rank == 1 && b != std::byte{}) fail("it read memory that is its owner's");
      env.barrier();
    });
}

BOOST_AUTO_TEST_CASE(the_choice) {
  // Short ones to few go by puts, long ones to many by multicast; without multicast never.
  BOOST_TEST(winner(some_team(2, 8)) == "eager");
  BOOST_TEST(winner(some_team(256, 64 << 10)) == "multicast");
  choice_inputs in = some_team(16, 1 << 20);
  in.multicast = false;
  BOOST_TEST((winner(in) == "binomial" || winner(in) == "chain"));
  in.bytes = 64 << 20, in.ranks = 4;
  BOOST_TEST(winner(in) == "chain");
  in.bytes = 8, in.ranks = 64;
  BOOST_TEST(winner(in) == "eager");
  // A multicast that its processors slow down loses to puts that the fabric moves.
  in = some_team(4, 16 << 20);
  in.multicast_bytes_per_ns = 1;
  BOOST_TEST(winner(in) != "multicast");
  // And so does one whose window is small where every turn costs a time slice.
  in = some_team(8, 16 << 20);
  in.fragment = 2048, in.window = 8, in.ranks_per_core = 4;
  BOOST_TEST(winner(in) != "multicast");
  const auto all = take(choose(collective::broadcast, in), "all");
  for (const auto& c : all) BOOST_TEST(!c.why.empty());
  // Where messages carry what is not mapped, a read of the caller's memory is chosen by name alone.
  in = some_team(4, 1 << 20);
  in.multicast = false, in.mapped = in.exposes = true;
  BOOST_TEST(winner(in) != "direct");
  in.wanted.name = "direct";
  BOOST_TEST(winner(in) == "direct");
  // And so it is where the target answers a get.
  in = some_team(4, 1 << 20);
  in.multicast = in.target_works = false, in.exposes = true;
  const auto can_win = [](const choice_inputs& of) {
    return std::ranges::any_of(take(choose(collective::broadcast, of), "direct"), [](const auto& c) { return c.row->name == "direct" && c.runnable; });
  };
  BOOST_TEST(can_win(in));
  in.target_works = true;
  BOOST_TEST(!can_win(in));
  in.kernel_copies = true;  // inside a node, whatever the network does
  BOOST_TEST(can_win(in));
}

// A message that is not full costs what a full one does.
BOOST_AUTO_TEST_CASE(slots_hold_whole_messages) {
  const std::uint64_t most = 1 << 30;
  for (unsigned c = 0; c < collectives; ++c)
    for (const algorithm& a : algorithms(static_cast<collective>(c))) {
      if (!a.data.slots || a.data.exposes || a.data.together) continue;
      const shape s{.size = 2, .radix = a.default_radix};
      const std::uint64_t own = room_of(a, s, most, 0).slot_bytes;
      for (const std::uint64_t message : {2048, 59968}) {
        BOOST_TEST_INFO(name_of(a.of) << ' ' << a.name << ", messages of " << message);
        const std::uint64_t slot = room_of(a, s, most, message).slot_bytes;
        BOOST_TEST(slot % message == 0);
        BOOST_TEST(slot > 0);
        BOOST_TEST((slot == message || slot <= own));
      }
    }
}

BOOST_AUTO_TEST_CASE(explained) {
  choice_inputs in = some_team(16, 1 << 20);
  const auto with = explain(collective::broadcast, in, take(choose(collective::broadcast, in), "with multicast"));
  const auto list = take(choose(collective::broadcast, in), "list");
  BOOST_TEST_REQUIRE(with.size() == list.size() + 2);
  BOOST_TEST(with[0].starts_with("broadcast of 1048576 bytes among 16 ranks"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = list[i].runnable ? std::to_string(i + 1) : "-";
    BOOST_TEST(with[i + 2].starts_with(std::string(3 - place.size(), ' ') + place + "  " + std::string(list[i].row->name)));
    BOOST_TEST(with[i + 2].ends_with(list[i].why));
  }
  in.multicast = false;
  const auto without = explain(collective::broadcast, in, take(choose(collective::broadcast, in), "without multicast"));
  BOOST_TEST(std::ranges::count_if(without, [](const std::string& line) {
    return line.find("cannot run: the transport of this team has no multicast") != std::string::npos;
  }) == 1);
  in.wanted.name = "nope";
  BOOST_TEST((choose(collective::broadcast, in).error().code() == errc::invalid));
}

BOOST_AUTO_TEST_CASE(overrides) {
  for (const algorithm& a : algorithms(collective::broadcast)) {
    choice_inputs in = some_team(5, 1000);
    in.wanted.name = a.name, in.mapped = a.needs.mapped, in.exposes = a.data.exposes;
    BOOST_TEST(winner(in) == a.name);
  }
  choice_inputs in = some_team(5, 1000);
  in.wanted.name = "binomal";
  const auto unknown = choose(collective::broadcast, in);
  BOOST_TEST((unknown.error().code() == errc::invalid));
  BOOST_TEST(std::string(unknown.error().text()).find("known: eager, binomial, ") != std::string::npos);
  in.wanted.name = "multicast", in.multicast = false;
  const auto missing = choose(collective::broadcast, in);
  BOOST_TEST((missing.error().code() == errc::unsupported));
  BOOST_TEST(std::string(missing.error().text()).find("what can: eager, binomial, ") != std::string::npos);
  // Not what cannot either.
  in.wanted.name = "ring", in.commutative = false;
  const std::string turned = choose(collective::reduce_scatter, in).error().text();
  BOOST_TEST(turned.find("what can: linear") != std::string::npos, turned);
  BOOST_TEST(turned.find("ring", turned.find("what can")) == std::string::npos, turned);
}
