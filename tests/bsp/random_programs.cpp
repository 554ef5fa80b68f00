// Random programs against the model, on every fabric and by every scheme.
// bsp_random_programs [Boost.Test's options] [-- [--fabric NAME] [--times K]]: on_networks on this fabric only; K times as
// many programs everywhere
// bsp_random_programs --run_test=many_seeds -- [--fabric NAME] [--seeds K] [--from S] [--scheme NAME]: K programs by each
// scheme, or by one, in one job for each number of processes
#include <boost/test/unit_test.hpp>

#include "tests/bsp/model.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"
#include "tests/harness/composed.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;

struct plan {
  std::uint64_t first_seed;
  std::uint32_t programs;
  bsp::scheme how = bsp::scheme::automatic;
  program_options options{};
};

std::uint32_t times() {
  return static_cast<std::uint32_t>(std::max(1, std::stoi(argument("--times", "1"))));
}

void run_programs(const fabric_spec& fabric, std::uint32_t n, const plan& p) {
  BOOST_TEST_INFO(fabric.name << ", " << n << " processes, first seed " << p.first_seed);
  run_ranks(fabric, n, [&](rank_env& env) {
    auto j = open_job(env);
    if (p.how == bsp::scheme::multicast && !j->net().mcast()) skip("no multicast");
    const std::uint64_t rooms[] = {bsp::engine_options{}.room, 0, n * std::uint64_t{1} << 16};  // buffers there from the beginning
    auto e = take(bsp::engine::open(j->world(), {.how = p.how, .room = rooms[(p.first_seed + n) % 3]}), "engine");
    for (std::uint32_t k = 0; k < p.programs * times(); ++k) run_random_program(*e, p.first_seed + k, p.options);
    const bool left = e->leave();
    require(left, e->error().text());
  }, {.timeout = std::chrono::seconds(60) * time_scale * times(), .seed = p.first_seed});
}

const std::vector<bsp::scheme> every_scheme = [] {
  std::vector<bsp::scheme> all;
  for (const bsp::scheme_row& row : bsp::schemes()) all.push_back(row.id);
  return all;
}();

}  // namespace

// Making buffers in a program's first supersteps would take longer than filling them.
BOOST_AUTO_TEST_CASE(first_supersteps_make_no_buffers) {
  for (const std::uint32_t n : {1u, 2u, 4u, 8u})
    run_ranks({"shm"}, n, [&](rank_env& env) {
      auto j = open_job(env);
      auto e = take(bsp::engine::open(j->world(), {}), "engine");
      std::vector<std::byte> area(std::size_t{1} << 22), source(area.size());
      const auto must = [&](bool ok) { require(ok, e->error().text()); };
      must(e->push_reg(area.data(), area.size()) && e->sync());
      const std::uint64_t each = (std::uint64_t{1} << 20) / n / n, row = 4096;
      for (std::uint32_t step = 0; step < 3; ++step) {
        for (std::uint64_t at = 0; at < each; at += row)
          for (std::uint32_t to = 0; to < n; ++to) must(e->put(to, source.data(), area.data(), (at * n + e->pid() * row) % (1 << 20), row));
        must(e->sync() && e->sync());
      }
      require_equal(e->regions_made(), 0u, "regions for a total exchange of 1 MiB");
      must(e->put(0, source.data(), area.data(), 0, source.size()) && e->sync());
      require_equal(e->regions_made(), 1u, "regions for a put of 4 MiB");
      must(e->leave());
    });
}

BOOST_AUTO_TEST_CASE(in_shared_memory) {
  for (const bsp::scheme how : every_scheme)
    for (const std::uint32_t n : {1u, 2u, 3u, 4u, 7u}) run_programs({"shm"}, n, {1000 * n, 60, how});
}

BOOST_AUTO_TEST_CASE(large_transfers) {
  for (const bsp::scheme how : every_scheme)
    run_programs({"shm"}, 3, {7, 10, how, {.most_bytes = 300000}});
  for (const char* fabric : {"sim", "sim:wild", "sim:tcp", "sim:node"})
    run_programs({fabric}, 3, {8, 4, bsp::scheme::automatic, {.most_bytes = 60000}});
  for (const fabric_spec& fabric : fabrics())
    if (fabric.name != "shm") run_programs(fabric, 3, {9, 4, bsp::scheme::automatic, {.most_bytes = 200000}});
}

// Where adapters read: large puts of one superstep are pulled by some and pushed to others.
BOOST_AUTO_TEST_CASE(pulled_and_pushed) {
  for (const char* fabric : {"sim", "sim:wild", "far(shm)", "router(shm+far(shm))"})
    run_ranks({fabric}, 4, [&](rank_env& env) {
      auto j = open_job(env);
      auto e = take(bsp::engine::open(j->world(), {}), "engine");
      for (std::uint32_t k = 0; k < 16 * times(); ++k)
        run_random_program(*e, 7000 + k, {.most_bytes = 300000, .large = true});
      const std::string counts = std::to_string(e->bulk_pulled()) + " pulled, " + std::to_string(e->bulk_pushed()) + " pushed";
      require(e->bulk_pulled() > 0 && e->bulk_pushed() > 0, "both ways are taken: " + counts);
      const bool left = e->leave();
      require(left, e->error().text());
    }, {.timeout = std::chrono::seconds(60) * time_scale * times()});
}

BOOST_AUTO_TEST_CASE(on_simulated_fabrics) {
  for (const fabric_spec& fabric : sim_fabrics())
    for (const bsp::scheme how : every_scheme)
      for (const std::uint32_t n : {2u, 3u, 5u}) run_programs(fabric, n, {2000 * n, 6, how});
}

BOOST_AUTO_TEST_CASE(on_networks) {
  for (const fabric_spec& fabric : wanted_fabrics())
    if (fabric.name != "shm")
      for (const bsp::scheme how : every_scheme)
        for (const std::uint32_t n : {2u, 4u}) {
          run_programs(fabric, n, {3000 * n, 6, how});
          if (n == 2) run_programs(fabric, n, {5000, 2, how, {.most_bytes = 60000}});
        }
}

// What costs most of a job of a few programs is its start, and a scheme takes an engine, not a job: so hundreds and thousands
// run in one.
BOOST_AUTO_TEST_CASE(many_seeds) {
  const std::uint64_t seeds = std::stoull(argument("--seeds", "12")), from = std::stoull(argument("--from", "100000"));
  std::vector<bsp::scheme> schemes = every_scheme;
  if (const std::string one = argument("--scheme"); !one.empty()) schemes = {take(bsp::parse_scheme(one), "--scheme")};
  for (const fabric_spec& fabric : wanted_fabrics())
    for (const std::uint32_t n : {2u, 3u, 4u}) {
      const std::uint64_t share = (seeds + 4 - n) / 3, first = from + n * 1000000;
      const bool ran = run_ranks(fabric, n, [&](rank_env& env) {
        auto j = open_job(env);
        for (const bsp::scheme how : schemes) {
          if (how == bsp::scheme::multicast && !j->net().mcast()) continue;
          auto e = take(bsp::engine::open(j->world(), {.how = how}), "engine");
          for (std::uint64_t k = 0; k < share; ++k)
            run_random_program(*e, first + k, {.most_bytes = k % 16 == 15 ? 40000u : 3000u});
          const bool left = e->leave();
          require(left, e->error().text());
        }
      }, {.timeout = std::chrono::seconds(45 + seeds / 2) * time_scale, .seed = first});
      BOOST_TEST(ran, fabric.name << " cannot be used here");
      BOOST_TEST_MESSAGE(fabric.name << ", " << n << " processes: " << share << " programs by each of " << schemes.size()
                                     << " schemes, from seed " << first);
    }
}

BOOST_AUTO_TEST_CASE(on_fabrics_made_of_others) {
  for (const fabric_spec& fabric : composed_fabrics(fabrics())) run_programs(fabric, 4, {4000, 10});
}
