// A tuning table as a machine, and what the simulator says beside what a table says was measured.
#include <boost/test/unit_test.hpp>

#include "collectives/tuning/file.h"
#include "tools/sim/collective.h"
#include "tools/sim/measure.h"
#include "tools/sim/validation.h"

using namespace tutti;
using namespace tutti::tools;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

tuning::calibration calibrated(const std::string& fabric, std::vector<std::pair<std::string_view, double>> values) {
  tuning::calibration c;
  c.fabric = fabric, c.can = {.target_must_progress = false, .maps_node = false, .multicasts = false};
  for (const auto& [name, value] : values) {
    const auto known = std::ranges::find(tuning::parameters(), name, &tuning::parameter::name);
    BOOST_REQUIRE(known != tuning::parameters().end());
    c.values[static_cast<std::size_t>(known - tuning::parameters().begin())] = {value, 0.1, "tutti tune", "2026-11-26T10:00:00Z"};
  }
  return c;
}

tuning::row measured(collective of, std::uint32_t ranks, std::uint64_t bytes, std::vector<std::string> names) {
  tuning::row r{.of = of, .fabric = "mine", .ranks = ranks, .ranks_per_core = ranks / 2.0, .bytes = bytes, .when = "2026-11-26T10:00:00Z", .host = "a"};
  for (const std::string& name : names) r.timings.push_back({*parse_wanted(of, name), 1, 0.02, 9});
  return r;
}

// Rows of two collectives on two cores, all of them measured at 1 us.
tuning::table some_table() {
  tuning::table t;
  t.machine = {{"host", "a"}};
  t.fabrics.push_back(calibrated("mine", {{"node.latency_us", 0.3}, {"node.overhead_us", 0.1}, {"node.gap_us", 0.05}, {"node.bytes_per_ns", 4},
                                          {"multicast.latency_us", 2}, {"multicast.bytes_per_ns", 0.8}, {"turn_per_rank_us", 0.7}, {"copied_bytes_per_ns", 5}, {"cached_bytes_per_ns", 20}, {"reduced_bytes_per_ns", 3}}));
  for (const std::uint32_t ranks : {2u, 4u, 8u}) {
    t.rows.push_back(measured(collective::barrier, ranks, 0, {"dissemination", "counter"}));
    for (const std::uint64_t bytes : {8u, 65536u}) t.rows.push_back(measured(collective::allreduce, ranks, bytes, {"recursive_doubling", "ring"}));
  }
  return t;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_table_is_a_machine) {
  const tuning::table t = some_table();
  const auto m = machine_of(t, "");
  BOOST_REQUIRE(m.ok());
  BOOST_TEST(m->name == "mine");
  for (const loggp& l : {m->par.node_cost, m->par.cost})
    BOOST_TEST((l.latency_us == 0.3 && l.overhead_us == 0.1 && l.gap_us == 0.05 && l.bytes_per_ns == 4));
  BOOST_TEST((m->par.cores.per_node == 2 && m->par.cores.turn_us == 0.7 && m->par.ranks_per_node == 1024));
  BOOST_TEST((m->par.mcast_latency_us == 2 && m->par.mcast_bytes_per_ns == 0.8));
  BOOST_TEST((m->par.copies.bytes_per_ns == 5 && m->par.copies.added_bytes_per_ns == 3));
  BOOST_TEST(has(m->source_of("node.latency_us"), "tutti tune, 2026-11-26T10:00:00Z"));
  BOOST_TEST(has(m->source_of("network.latency_us"), "not measured"));
  const auto again = machine_from_text(to_text(*m), "m.json");
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(to_text(*again) == to_text(*m));

  const sim::parameters two = machine_of(*m, t, t.rows[0]), eight = machine_of(*m, t, t.rows.back());
  BOOST_TEST((two.ranks == 2 && two.cores.per_node == 0 && eight.ranks == 8 && eight.cores.per_node == 2 && eight.ranks_per_node == 8));
  // 8 bytes stay in a cache; of four ranks a core with a mebibyte in and out only some does.
  const auto rate = [&](std::uint64_t bytes) { return machine_of(*m, t, measured(collective::allreduce, 8, bytes, {"ring"})).copies.bytes_per_ns; };
  BOOST_TEST((rate(8) == 20 && rate(1 << 20) < 20 && rate(1 << 20) > 5 && rate(4 << 20) == 5));
}

BOOST_AUTO_TEST_CASE(a_table_of_several_fabrics_wants_a_name) {
  tuning::table t = some_table();
  t.fabrics.push_back(calibrated("other", {{"node.latency_us", 1}}));
  t.fabrics.push_back(calibrated("unmeasured", {{"turn_per_rank_us", 1}}));
  BOOST_TEST(has(machine_of(t, "").error().text(), "name one of mine, other by --fabric"));
  BOOST_TEST(has(machine_of(t, "unmeasured").error().text(), "no fabric \"unmeasured\" whose links were measured: name one of mine, other"));
  BOOST_TEST(machine_of(t, "other").ok());
  t.fabrics.clear();
  BOOST_TEST(has(machine_of(t, "").error().text(), "between two ranks that have a core each"));
}

BOOST_AUTO_TEST_CASE(what_the_simulator_measured_itself_it_foretells) {
  tuning::table t = some_table();
  const machine m = *machine_of(t, "mine");
  for (tuning::row& r : t.rows)
    for (tuning::timing& timed : r.timings) {
      const sim::parameters p = machine_of(m, t, r);
      const std::string name = tuning::name_of(timed.algorithm);
      const auto f = r.of == collective::barrier ? measure_barrier(p, {.barrier = name}, 16) : measure_collective(p, {r.of, name, r.bytes, 16});
      BOOST_REQUIRE_MESSAGE(f.ok(), (f.ok() ? "" : f.error().text()));
      timed.us = f->us;
    }
  const auto rows = predict(m, t);
  BOOST_REQUIRE(rows.size() == t.rows.size());
  for (const predicted_row& r : rows) {
    std::vector<const predicted_time*> all;
    for (const predicted_time& one : r.all) all.push_back(&one);
    const prediction_error e = error_of(all);
    BOOST_TEST((e.many == 2 && std::abs(e.worst - 1) < 1e-9 && std::abs(e.bias - 1) < 1e-9));
    BOOST_TEST(r.regret() == 1);
  }

  // Of what was measured twice as slow, each is off by that; what was measured slower by name is what going by the simulator loses.
  for (tuning::row& r : t.rows) {
    for (tuning::timing& timed : r.timings) timed.us *= 2;
    std::swap(r.timings[0].us, r.timings[1].us);
    std::ranges::sort(r.timings, {}, &tuning::timing::us);
  }
  for (const predicted_row& r : predict(m, t)) {
    const double a = r.all[0].predicted_us, b = r.all[1].predicted_us;
    BOOST_TEST(std::abs(r.regret() - std::max(a, b) / std::min(a, b)) < 1e-9);
    const predicted_time* both[] = {&r.all[0], &r.all[1]};
    BOOST_TEST(std::abs(error_of(both).bias - 0.5) < 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_simulated_says_why) {
  tuning::table t = some_table();
  t.rows = {measured(collective::barrier, 4, 0, {"dissemination", "multicast"}), measured(collective::alltoallv, 4, 8, {"pairwise"})};
  const auto rows = predict(*machine_of(t, "mine"), t);
  BOOST_REQUIRE(rows.size() == 1u);
  BOOST_TEST((rows[0].all[0].predicted_us > 0 && rows[0].all[0].why_not.empty()));
  BOOST_TEST((rows[0].all[1].predicted_us == 0 && has(rows[0].all[1].why_not, "multicast")));
}
