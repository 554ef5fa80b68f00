// What calls learn while a program runs: how a class is settled, without a network; then whole jobs on simulated fabrics, where clocks
// differ, messages overtake each other and members die.
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <set>

#include "collectives/tuning/table.h"
#include "providers/sim/random.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

using namespace tutti;
using namespace tutti::test;
using tuning::contest;
using tuning::online_settings;

namespace {

constexpr picoseconds us = 1'000'000;

// The members of a team, which call by turns of candidates whose true times these are; what a member sees is off by up to `noise`.
struct members {
  members(std::uint32_t n, std::span<const picoseconds> expected, std::vector<picoseconds> truth, const online_settings& s, double noise)
      : all(n, contest(expected, s)), true_times(std::move(truth)), settings(s), noisy(noise), prepared(true_times.size()) {
    prepared[0] = true;
  }

  void call() {
    const std::uint32_t before = all[0].incumbent(), row = all[0].next();
    for (std::size_t m = 1; m < all.size(); ++m) {
      const bool agrees = all[m].next() == row && all[m].timed() == all[0].timed() && all[m].exchange_due() == all[0].exchange_due();
      if (!agrees) BOOST_FAIL("member " << m << " takes row " << all[m].next() << ", member 0 row " << row);  // of millions of calls
    }
    std::uint32_t runs = row;
    if (all[0].exchange_due()) {
      std::vector<std::vector<picoseconds>> told;
      for (const contest& c : all) told.push_back(c.medians());
      const std::vector<std::span<const picoseconds>> views(told.begin(), told.end());
      for (contest& c : all) c.settle(views);
      runs = all[0].incumbent();
      ++exchanges;
    }
    if (all[0].exchange_due() || all[0].begins_trial()) total += settings.exchange, trials += settings.exchange;
    if (!prepared[runs]) prepared[runs] = true, total += settings.setup, trials += settings.setup;
    total += true_times[runs];
    if (runs != before) trials += true_times[runs];
    tried.insert(runs);
    if (all[0].timed())
      for (contest& c : all) c.took(static_cast<picoseconds>(static_cast<double>(true_times[runs]) * (1 + noisy * random.unit())));
  }

  std::vector<contest> all;
  std::vector<picoseconds> true_times;
  online_settings settings;
  double noisy;
  std::vector<bool> prepared;
  sim::random random{1};
  std::set<std::uint32_t> tried;
  int exchanges = 0;
  picoseconds total = 0, trials = 0;  // time
};

constexpr online_settings eager{.one_in = 1, .setup = 0, .exchange = 0};

}  // namespace

BOOST_AUTO_TEST_CASE(a_price_that_is_ten_times_off_ends_with_the_better_one) {
  const picoseconds expected[] = {us, 2 * us, 4 * us, 8 * us};
  for (std::uint32_t better = 0; better < 4; ++better) {
    std::vector<picoseconds> truth(4, 10 * us);
    truth[better] = us;
    members team(3, expected, truth, {}, 0.3);
    for (int i = 0; i < 5'000'000 && !team.all[0].over(); ++i) team.call();
    BOOST_TEST(team.all[0].over());
    BOOST_TEST(team.all[0].incumbent() == better);
    BOOST_TEST(team.tried.size() == 4u);
  }
}

BOOST_AUTO_TEST_CASE(the_incumbent_stays_unless_another_is_ten_percent_ahead) {
  const picoseconds expected[] = {us, us};
  for (const auto& [truth, winner] : {std::pair(95 * us / 100, 0u), std::pair(89 * us / 100, 1u), std::pair(3 * us, 0u)}) {
    members team(2, expected, {us, truth}, eager, 0);
    for (int i = 0; i < 1000; ++i) team.call();
    BOOST_TEST(team.all[0].over());
    BOOST_TEST(team.all[0].incumbent() == winner);
    BOOST_TEST(team.exchanges == (truth == 3 * us ? 1 : 2));
  }
}

// At any time, where prices are right; where they are not, once the first round has been made good.
BOOST_AUTO_TEST_CASE(trials_take_one_part_in_a_hundred) {
  const online_settings usual;
  for (const picoseconds call : {us / 5, 10 * us, 1000 * us})
    for (const int off : {1, 10}) {
      const picoseconds expected[] = {call, call, 3 * call, 20 * call};
      std::vector<picoseconds> truth{call, off * call, 3 * call * off, 20 * call / off};
      members team(2, expected, truth, usual, 0);
      const std::int64_t calls = 40 * usual.one_in * (100 + (usual.setup + 10 * usual.exchange) / call);
      picoseconds worst = 0;
      for (std::int64_t i = 0; i < calls; ++i) {
        team.call();
        if (off == 1) worst = std::max(worst, team.trials - team.total / usual.one_in);
      }
      BOOST_TEST(worst <= 2 * call, "trials were " << worst << " ps ahead of what they may take, of calls of " << call);
      BOOST_TEST(team.all[0].over(), calls << " calls of " << call << " ps, prices off by " << off);
      BOOST_TEST(team.trials <= team.total / usual.one_in + call, team.trials << " ps of " << team.total);
    }
}

BOOST_AUTO_TEST_CASE(members_always_agree_and_it_ends) {
  sim::random r(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t rows = 1 + r.next() % 9;
    std::vector<picoseconds> expected, truth;
    for (std::size_t i = 0; i < rows; ++i)
      expected.push_back(1 + static_cast<picoseconds>(r.next() % (100 * us))), truth.push_back(1 + static_cast<picoseconds>(r.next() % (100 * us)));
    members team(2 + r.next() % 7, expected, truth, eager, 3 * r.unit());
    for (int i = 0; i < 500'000 && !team.all[0].over(); ++i) team.call();
    BOOST_TEST(team.all[0].over());
    BOOST_TEST(team.exchanges <= 2);
  }
}

// Numbers of another member, which nothing vouches for.
BOOST_AUTO_TEST_CASE(whatever_the_members_tell_it_ends) {
  const picoseconds expected[] = {us, us, us};
  for (const picoseconds told : {picoseconds{0}, picoseconds{-1}, std::numeric_limits<picoseconds>::min(), std::numeric_limits<picoseconds>::max()}) {
    contest c(expected, eager);
    for (int i = 0; i < 10000; ++i) {
      BOOST_REQUIRE(c.next() < 3);
      if (c.timed()) c.took(told);
      if (!c.exchange_due()) continue;
      const picoseconds any[] = {told, us, told};
      const std::span<const picoseconds> all[] = {any, any};
      c.settle(all);
    }
  }
}

namespace {

communicator_options trying(online_settings s = eager) {
  communicator_options o;
  o.online = s;
  return o;
}

collective_call call_of(collective of, std::span<const std::byte> in, std::span<std::byte> out, datatype type, std::uint32_t size) {
  const std::uint64_t bytes = has_block_each(of) ? in.size() / size : in.size();
  return {.of = of, .bytes = bytes, .in = in.data(), .out = out.data(), .op = *find_reduction(type, operation::sum)};
}

std::uint64_t name_of_row(const data_collectives& d) {
  std::uint64_t hash = 1;
  if (d.latest().row)
    for (const char c : to_string(d.latest())) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

// Several collectives and sizes by turns, some of them under way together; every member takes the same row in every call.
BOOST_AUTO_TEST_CASE(all_members_take_the_same_row) {
  for (const char* fabric : {"sim", "sim:wild", "sim:tcp"})
    for (const std::uint32_t n : {2u, 3u, 5u, 8u}) {
      constexpr std::uint32_t calls = 600;
      const shared_words rows(calls), different(collectives);
      const auto report = try_ranks_simulated(sim_parameters({fabric}, n, n), [&](rank_env& env) {
        auto j = open_job(env);
        auto world = take(communicator::world(*j, trying()), "world");
        std::vector<std::uint64_t> in(n * 200), out(n * 200), sums(n * 200), later(1);
        std::uint64_t first[collectives] = {};
        for (std::uint32_t i = 0; i < calls; ++i) {
          const collective of = i % 3 == 0 ? collective::allreduce : i % 3 == 1 ? collective::allgather : collective::broadcast;
          const std::size_t count = i % 2 ? 1 : 200;
          if (env.random() % 8 == 0) env.pause(std::chrono::microseconds(env.random() % 20));
          const std::uint64_t mine = env.rank + i;
          std::optional<std::uint64_t> request;
          if (i % 7 == 0) request = take(world->start(call_of(collective::allreduce, std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(later)), datatype::uint64, n)), "start");
          if (of == collective::allgather) {
            for (std::size_t k = 0; k < count; ++k) in[k] = mine + k;
            require(world->run({.of = of, .bytes = 8 * count, .in = reinterpret_cast<const std::byte*>(in.data()), .out = reinterpret_cast<std::byte*>(out.data())}), "allgather");
            for (std::uint32_t r = 0; r < n; ++r)
              for (std::size_t k = 0; k < count; ++k) require(out[r * count + k] == r + i + k, "allgather's result");
          } else if (of == collective::allreduce) {
            for (std::size_t k = 0; k < count; ++k) in[k] = mine + k;
            require(world->run(call_of(of, std::as_bytes(std::span(in).first(count)), std::as_writable_bytes(std::span(out).first(count)), datatype::uint64, n)), "allreduce");
            for (std::size_t k = 0; k < count; ++k) require(out[k] == std::uint64_t{n} * (i + k) + n * (n - 1) / 2, "allreduce's result");
          } else {
            for (std::size_t k = 0; k < count; ++k) sums[k] = env.rank == 0 ? i + k : 0;
            require(world->broadcast(0, std::as_writable_bytes(std::span(sums).first(count))), "broadcast");
            for (std::size_t k = 0; k < count; ++k) require(sums[k] == i + k, "broadcast's result");
          }
          const std::uint64_t row = name_of_row(world->data());
          std::uint64_t other = 0;
          require(rows[i].compare_exchange_strong(other, row) || other == row, "another member's row");
          if (!first[static_cast<unsigned>(of)]) first[static_cast<unsigned>(of)] = row;
          if (row != first[static_cast<unsigned>(of)]) different[static_cast<unsigned>(of)] = 1;
          if (request) require(world->data().wait(*request), "wait"), require(later[0] == std::uint64_t{n} * i + n * (n - 1) / 2, "what was under way");
        }
        require(world->finish(), "all");
        require(world->group().settle(), "leaving");
      }, {.timeout = std::chrono::seconds(120) * time_scale, .seed = n});
      BOOST_TEST(report.passed(), fabric << ", " << n << " ranks: " << report.text());
      BOOST_TEST(different[static_cast<unsigned>(collective::broadcast)].load() == 1u);
    }
}

namespace {

// What was measured beforehand has a canonical row in front.
std::shared_ptr<const tuning::table> canonical_first(const job& j) {
  auto out = std::make_shared<tuning::table>();
  tuning::row r{.of = collective::allreduce, .ranks = j.size(), .nodes = j.where().nodes(), .ranks_per_core = j.where().most_ranks_per_core(), .bytes = 1024};
  r.timings.push_back({.algorithm = {"recursive_doubling", 0, {}}, .us = 1});
  out->rows.push_back(std::move(r));
  return out;
}

// Whether float sums differ, and how many rows they take.
void add_floats(rank_env& env, communicator_options o, const shared_words& seen) {
  auto j = open_job(env);
  o.measured = canonical_first(*j);
  auto world = take(communicator::world(*j, o), "world");
  std::vector<float> in(200), out(200), before;
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = 1.0f / static_cast<float>(1 + i * 7 + env.rank * 13);
  std::set<std::uint64_t> rows;
  for (int i = 0; i < 600; ++i) {
    require(world->run(call_of(collective::allreduce, std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)), datatype::float32, env.size)), "allreduce");
    rows.insert(name_of_row(world->data()));
    if (!before.empty() && std::memcmp(before.data(), out.data(), out.size() * sizeof(float)) != 0) seen[0] = 1;
    before = out;
  }
  seen[1] = rows.size();
  require(world->group().settle(), "leaving");
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_floats_keep_their_bits) {
  const run_options limits{.timeout = std::chrono::seconds(120) * time_scale};
  online_settings any = eager;
  any.any_grouping = true;
  communicator_options reproducible = trying();
  reproducible.reproducible = true;
  struct {
    communicator_options o;
    bool several, differ;
  } const cases[] = {{trying(), true, false}, {trying(any), true, true}, {reproducible, false, false}, {{}, false, false}};
  for (const auto& c : cases) {
    const shared_words seen(2);
    const auto report = try_ranks_simulated(sim_parameters({"sim"}, 4, 4), [&](rank_env& env) { add_floats(env, c.o, seen); }, limits);
    BOOST_TEST(report.passed(), report.text());
    BOOST_TEST((seen[1].load() > 1) == c.several, seen[1].load() << " rows, online " << c.o.online.has_value() << ", any grouping " << (c.o.online && c.o.online->any_grouping));
    BOOST_TEST((seen[0].load() == 1) == c.differ);
  }
}

// Before the call in which the members exchange what they have seen, and in every one near it.
BOOST_AUTO_TEST_CASE(a_death_is_named) {
  for (const std::uint32_t victim : {0u, 3u})
    for (int at = 2; at < 130; at += 3) {
      sim::parameters p;
      p.ranks = 4, p.notice_us = 100;
      const auto report = try_ranks_simulated(p, [&](rank_env& env) {
        auto j = open_job(env);
        auto world = take(communicator::world(*j, trying()), "world");
        std::uint64_t in = 1, out = 0;
        const auto call = call_of(collective::allreduce, std::as_bytes(std::span(&in, 1)), std::as_writable_bytes(std::span(&out, 1)), datatype::uint64, 4);
        status s;
        for (int i = 0; i < 2000 && s.ok(); ++i) {
          if (env.rank == victim && i == at) env.die();
          s = world->run(call);
        }
        require(s.code() == errc::peer_dead && s.peer() == victim, "the call names the dead: " + std::string(s.text()));
      }, {.to_die = {victim}});
      BOOST_TEST(report.passed(), victim << " dies in call " << at << ": " << report.text());
    }
}
