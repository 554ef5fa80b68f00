// What `tutti sim` measures, on machines where it is known: percentiles, rank lists, collectives, traffic, and that equal runs
// are equal.
#include <boost/test/unit_test.hpp>

#include "tests/sim/ranks.h"
#include "tools/sim/collective.h"
#include "tools/sim/measure.h"
#include "tools/sim/rank_list.h"
#include "tools/sim/results_json.h"
#include "tools/sim/traffic.h"

using namespace tutti;
using namespace tutti::tools;
using test::need;

namespace {

constexpr auto nearly = [] { return boost::test_tools::tolerance(1e-6); };

sim::parameters ranks_of(std::uint32_t ranks) {
  sim::parameters p;
  p.ranks = ranks;
  p.cost = {2.0, 0.5, 0.25, 1.0};
  return p;
}

std::vector<std::uint32_t> ranks(const std::string& text) { return need(parse_ranks(text, 1000000)); }

}  // namespace

BOOST_AUTO_TEST_CASE(percentiles_are_samples_of_their_rank) {
  std::vector<float> all;
  for (int i = 100; i >= 1; --i) all.push_back(static_cast<float>(i));
  const spread s = spread_of(all);
  BOOST_TEST(s.samples == 100u);
  BOOST_TEST(s.mean == 50.5);
  BOOST_TEST(s.least == 1);
  BOOST_TEST(s.p25 == 25);
  BOOST_TEST(s.p50 == 50);
  BOOST_TEST(s.p75 == 75);
  BOOST_TEST(s.p90 == 90);
  BOOST_TEST(s.p99 == 99);
  BOOST_TEST(s.most == 100);
  std::vector<float> one{3};
  BOOST_TEST(spread_of(one).p99 == 3);
  std::vector<float> none;
  BOOST_TEST(spread_of(none).samples == 0u);
}

BOOST_AUTO_TEST_CASE(rank_lists) {
  using list = std::vector<std::uint32_t>;
  BOOST_TEST((ranks("7") == list{7}));
  BOOST_TEST((ranks("2..16") == list{2, 4, 8, 16}));
  BOOST_TEST((ranks("3..20") == list{3, 6, 12, 20}));
  BOOST_TEST((ranks("5..5,5,8,2..8") == list{5, 8, 2, 4}));
  for (const char* bad : {"", "0", "-1", "2,", ",2", "8..2", "2..", "..2", "a", "2..4..8", "1000001", "1e3"}) {
    const auto refused = parse_ranks(bad, 1000000);
    BOOST_TEST(!refused.ok(), bad);
    if (!refused.ok()) BOOST_TEST(std::string(refused.error().text()).find("--ranks") == 0u);
  }
}

BOOST_AUTO_TEST_CASE(a_barrier_takes_what_its_rounds_take) {
  const auto f = need(measure_barrier(ranks_of(16), {.barrier = "dissemination"}, 5));
  BOOST_TEST(f.us == 4 * 2.5, nearly());
  BOOST_TEST(f.each.p50 == 4 * 2.5, nearly());
  BOOST_TEST(f.each.most == 4 * 2.5, nearly());
  BOOST_TEST(f.messages == 16 * 4);
  BOOST_TEST(f.each.samples == 16u * 5);
  auto p = ranks_of(16);
  p.connect_us = 7;
  const auto set_up = need(measure_barrier(p, {.barrier = "dissemination"}, 5));
  BOOST_TEST(set_up.first_us == 4 * (2.5 + 7), nearly());
  BOOST_TEST(set_up.us == (4 * 2.5 * 5 + 4 * 7) / 5, nearly());
}

BOOST_AUTO_TEST_CASE(every_collective_runs) {
  for (unsigned i = 0; i < collectives; ++i) {
    const auto of = static_cast<collective>(i);
    if (of == collective::barrier) continue;
    const auto f = measure_collective(ranks_of(5), {.of = of, .bytes = 1024, .calls = 4});
    if (of == collective::alltoallv) {
      BOOST_TEST(!f.ok());
      continue;
    }
    BOOST_REQUIRE_MESSAGE(f.ok(), (f.ok() ? "" : f.error().text()));
    BOOST_TEST(f->us > 2.5 / 4);
    BOOST_TEST(f->messages >= 4.0);
    BOOST_TEST(f->payload >= 1024.0);
    BOOST_TEST(f->each.samples == 20u);
    BOOST_TEST(!f->way.empty());
  }
}

// Of no bytes, of more than a fabric takes at once, and of more than any memory holds: the data are virtual as well.
BOOST_AUTO_TEST_CASE(any_size_is_simulated_or_refused) {
  for (unsigned i = 0; i < collectives; ++i) {
    const auto of = static_cast<collective>(i);
    if (of == collective::barrier || of == collective::alltoallv) continue;
    const auto nothing = need(measure_collective(ranks_of(5), {.of = of, .bytes = 0, .calls = 2}));
    BOOST_TEST(nothing.us == 0);
    BOOST_TEST(nothing.messages == 0);
    for (const std::uint64_t bytes : {std::uint64_t{1} << 60, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
      const auto f = measure_collective(ranks_of(4), {.of = of, .bytes = bytes, .calls = 2});
      BOOST_REQUIRE(!f.ok());
      BOOST_TEST(std::string(f.error().text()).find("too much to simulate") != std::string::npos, f.error().text());
    }
    const bool is_direct = find_algorithm(of, "direct") != nullptr;
    for (const std::uint64_t most : {64, 256, 1024})
      for (const char* way : {"", "direct"}) {
        if (*way && (!is_direct || most < 256)) continue;  // where memory lies does not fit into one operation
        auto p = ranks_of(5);
        p.max_bytes = most;
        const auto f = measure_collective(p, {.of = of, .algorithm = way, .bytes = 10000, .calls = 2});
        BOOST_TEST(f.ok(), name_of(of) << " " << way << ", at most " << most << " at once: " << (f.ok() ? "" : f.error().text()));
      }
  }
  const collective_plan large{.of = collective::broadcast, .algorithm = "direct", .bytes = std::uint64_t{64} << 30, .calls = 1};
  BOOST_TEST(need(measure_collective(ranks_of(4), large)).us >= 64 << 20);  // 1 byte a ns
  const auto put = need(measure_traffic(ranks_of(9), {.to = pattern::ring, .bytes = std::uint64_t{1} << 30, .operations = 4, .window = 16}));
  BOOST_TEST(put.payload == 9.0 * (std::uint64_t{1} << 30));
  auto p = ranks_of(2);
  p.max_bytes = std::uint64_t{1} << 40;
  BOOST_TEST(!measure_traffic(p, {.to = pattern::ring, .bytes = std::uint64_t{1} << 32, .operations = 1}).ok());
}

BOOST_AUTO_TEST_CASE(adding_takes_its_time_where_it_has_one) {
  // Two ranks: each sends all it has to the other, and adds.
  const collective_plan plan{.of = collective::allreduce, .algorithm = "recursive_doubling", .bytes = 8192, .calls = 4};
  const auto free = need(measure_collective(ranks_of(2), plan));
  auto p = ranks_of(2);
  p.copies.added_bytes_per_ns = 2;
  const auto paid = need(measure_collective(p, plan));
  BOOST_TEST(paid.us - free.us == 8192 / 2000.0, nearly());
}

BOOST_AUTO_TEST_CASE(an_algorithm_can_be_named) {
  const auto ring = need(measure_collective(ranks_of(8), {.of = collective::allreduce, .algorithm = "ring", .bytes = 8192, .calls = 2}));
  BOOST_TEST(ring.way.find("ring") == 0u);
  BOOST_TEST(!measure_collective(ranks_of(8), {.of = collective::allreduce, .algorithm = "rign", .bytes = 8192}).ok());
}

BOOST_AUTO_TEST_CASE(puts_to_the_next_rank_and_all_to_one) {
  // One put after the other: o, L, its bytes, and L back.
  const auto ring = need(measure_traffic(ranks_of(9), {.to = pattern::ring, .bytes = 1000, .operations = 4}));
  BOOST_TEST(ring.each.least == 0.5 + 2 + 1 + 2, nearly());
  BOOST_TEST(ring.each.most == 0.5 + 2 + 1 + 2, nearly());
  BOOST_TEST(ring.us == 5.5, nearly());
  BOOST_TEST(ring.messages == 9);
  BOOST_TEST(ring.payload == 9000);
  // Eight ranks at one target: its adapter takes in one after the other, with g between.
  const auto incast = need(measure_traffic(ranks_of(9), {.to = pattern::incast, .bytes = 1000, .operations = 1}));
  BOOST_TEST(incast.each.least == 5.5, nearly());
  BOOST_TEST(incast.each.most == 5.5 + 7 * 1.25, nearly());
  const auto get = need(measure_traffic(ranks_of(9), {.to = pattern::ring, .get = true, .bytes = 1000, .operations = 4}));
  BOOST_TEST(get.each.p50 == 0.5 + 2 + 1 + 2, nearly());
  for (const pattern to : {pattern::uniform, pattern::shift, pattern::mirror}) {
    const auto f = need(measure_traffic(ranks_of(9), {.to = to, .bytes = 64, .operations = 20, .window = 4}));
    BOOST_TEST(f.each.samples == (to == pattern::mirror ? 8u : 9u) * 20);
  }
}

BOOST_AUTO_TEST_CASE(equal_runs_are_equal_bit_for_bit) {
  for (const auto kind : {sim::wiring::flat, sim::wiring::fat_tree, sim::wiring::torus, sim::wiring::dragonfly}) {
    auto p = ranks_of(16);
    p.topology = {.kind = kind, .down = 4, .up = 2, .nodes = 2, .routers = 4, .globals = 2};
    p.ranks_per_node = 2, p.shared_adapters = true, p.jitter = 0.5, p.noise.every_us = 50, p.noise.lasts_us = 3;
    p.cores = {1, 0.5};
    const auto twice = [](auto run) {
      const auto a = run(), b = run();
      BOOST_TEST(a.trace == b.trace);
      BOOST_TEST(a.us == b.us);
    };
    twice([&] { return need(measure_barrier(p, {.barrier = "dissemination"}, 3)); });
    twice([&] { return need(measure_collective(p, {.of = collective::allreduce, .bytes = 4096, .calls = 1})); });
    twice([&] { return need(measure_traffic(p, {.to = pattern::uniform, .bytes = 512, .operations = 8, .window = 2})); });
  }
}

BOOST_AUTO_TEST_CASE(what_waits_on_links_takes_longer) {
  auto p = ranks_of(64);
  p.topology = {.kind = sim::wiring::fat_tree, .hop_us = 0, .down = 8, .up = 8};
  const traffic_plan plan{.to = pattern::mirror, .bytes = 10000, .operations = 4};
  const auto full = need(measure_traffic(p, plan));
  p.topology.up = 1;
  const auto thin = need(measure_traffic(p, plan));
  BOOST_TEST(full.us == 0.5 + 2 + 10 + 2, nearly());  // no two of them share a link
  BOOST_TEST(thin.us > 4 * full.us);                  // eight at one cable
  BOOST_REQUIRE(thin.busiest.has_value());
  BOOST_TEST(thin.busiest->busy_us > 0.8 * thin.lasted_us);
}

BOOST_AUTO_TEST_CASE(results_carry_their_machine) {
  const machine on{.name = "a", .par = ranks_of(4)};
  const std::vector<sim_figures> all{need(measure_barrier(on.par, {.barrier = "dissemination"}, 2))};
  const std::string text = to_json(on, all);
  for (const char* part : {"\"tutti_sim\": 1", "\"latency_us\": 2,", "\"of\": \"barrier\"", "\"p99\": 5.0", "\"ranks\": 4"})
    BOOST_TEST(text.find(part) != text.npos, part);
}
