// The table that `tutti tune` writes: what it says is checked where it enters, decides where it was measured and nowhere else, and
// is alike in all ranks or no job begins.
#include <boost/test/unit_test.hpp>

#include <mutex>
#include <thread>

#include "collectives/communicator.h"
#include "collectives/tuning/file.h"
#include "tests/doubles/bootstrap_threads.h"
#include "tools/perf/multicast_costs.h"
#include "tools/sim/joined.h"

using namespace tutti;
using tuning::table;

namespace {

tuning::row measured(collective of, std::uint32_t ranks, std::uint64_t bytes, std::vector<std::pair<std::string, double>> us) {
  tuning::row r{.of = of, .fabric = "shm", .ranks = ranks, .ranks_per_core = ranks / 2.0, .bytes = bytes, .when = "2026-11-23T10:00:00Z", .host = "a"};
  for (const auto& [name, time] : us) r.timings.push_back({*parse_wanted(of, name), time, 0.02, 9});
  return r;
}

table some_table() {
  table t;
  t.machine = {{"processor", "some"}};
  tuning::calibration& c = t.fabrics.emplace_back();
  c.fabric = "shm", c.can = {.target_must_progress = false, .maps_node = true, .multicasts = true};
  c.values[0] = {0.25, 0.1, "tutti tune", "2026-11-23T10:00:00Z"};
  for (const std::uint32_t ranks : {2u, 8u})
    for (const std::uint64_t bytes : {8u, 1024u, 65536u})
      t.rows.push_back(measured(collective::allreduce, ranks, bytes, {{"tree:1", 1.5}, {"recursive_doubling", 2}, {"ring", 3}}));
  t.rows.push_back(measured(collective::barrier, 8, 0, {{"dissemination", 1}, {"counter", 5}}));
  return t;
}

choice_inputs a_call(const table& t, std::uint32_t ranks, std::uint64_t bytes) {
  choice_inputs in;
  in.ranks = ranks, in.ranks_per_core = ranks / 2.0, in.bytes = bytes;
  in.node = in.network = {0.1, 0.02, 0.02, 16};
  in.measured = &t, in.fabric = "shm";
  return in;
}

std::vector<candidate> chosen(collective of, const choice_inputs& in) {
  auto all = choose(of, in);
  BOOST_REQUIRE(all.ok());
  return *all;
}

std::string complaint(const std::string& text) {
  const auto read = tuning::from_text(text, "/there/t.json");
  BOOST_REQUIRE(!read.ok());
  BOOST_TEST((read.error().code() == errc::invalid));
  return read.error().text();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::string changed(std::string_view from, std::string_view to) {
  std::string text = tuning::to_text(some_table());
  const auto at = text.find(from);
  BOOST_REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) {
  const std::string text = tuning::to_text(some_table());
  const auto read = tuning::from_text(text, "t");
  BOOST_REQUIRE(read.ok());
  BOOST_TEST(tuning::to_text(*read) == text);
  BOOST_TEST(read->digest != 0u);
  BOOST_TEST(read->digest == tuning::from_text(text, "another")->digest);
  BOOST_TEST(read->digest != tuning::from_text(changed("1.5", "1.6"), "t")->digest);
}

BOOST_AUTO_TEST_CASE(a_bad_file_is_refused_by_name_place_and_remedy) {
  for (const std::string& text : {complaint("{"), complaint("[]"), complaint(changed("\"us\": 1.5", "\"us\": -1.5")), complaint(changed("8", "\"8\""))}) {
    BOOST_TEST(has(text, "/there/t.json"), text);
    BOOST_TEST(has(text, "tutti tune"), text);
  }
  BOOST_TEST(has(complaint(changed("\"rows\": [", "\"rows\": [,")), "line "));
  BOOST_TEST(has(complaint(changed("\"us\": 1.5", "\"us\": -1.5")), "rows[0].timings[0].us is -1.5"));
  BOOST_TEST(has(complaint(changed("\"us\": 1.5", "\"us\": null")), "rows[0].timings[0].us is null"));
  BOOST_TEST(has(complaint(changed("\"tree:1\"", "\"nonesuch\"")), "known: "));
  BOOST_TEST(has(complaint(changed("\"tree:1\"", "\"tree:0\"")), "radix"));
  BOOST_TEST(has(complaint(changed("\"allreduce\"", "\"allreduction\"")), "known are barrier"));
  BOOST_TEST(has(complaint(changed("node.latency_us", "node.latency")), "calibration[0].values.node.latency"));
  BOOST_TEST(has(complaint(changed("\"maps_node\": true", "\"maps_node\": 1")), "calibration[0].can.maps_node is 1: true or false"));
  BOOST_TEST(has(complaint(changed("\"tutti_tuning\": 1", "\"tutti_tuning\": 2")), "reads format 1"));
  BOOST_TEST(has(complaint(changed("\"ranks\": 2", "\"ranks\": 2.5")), "a whole number"));
  BOOST_TEST(has(complaint(changed("\"host\": \"a\",", "")), "rows[0] has no \"host\""));
  const auto missing = tuning::read_file("/there/is/none");
  BOOST_REQUIRE(!missing.ok());
  BOOST_TEST(has(missing.error().text(), "TUTTI_TUNING"));
}

BOOST_AUTO_TEST_CASE(the_nearest_row_decides_inside_of_what_was_measured) {
  const table t = some_table();
  const auto at = [&](std::uint32_t ranks, std::uint64_t bytes, double ranks_per_core, std::uint32_t nodes = 1, std::string_view fabric = "shm") {
    return t.find({collective::allreduce, fabric, ranks, nodes, ranks_per_core, bytes});
  };
  BOOST_REQUIRE(at(2, 8, 1));
  BOOST_TEST((at(2, 8, 1)->ranks == 2 && at(2, 8, 1)->bytes == 8));
  BOOST_TEST((at(7, 8, 3.5)->ranks == 8 && at(7, 40000, 3.5)->bytes == 65536 && at(8, 100, 4)->bytes == 1024));
  BOOST_TEST(at(8, 1, 4)->bytes == 8u);     // as short as a cache line
  BOOST_TEST(!at(8, 65537, 4));             // longer than any
  BOOST_TEST((!at(16, 8, 4) && !at(1, 8, 1)));
  BOOST_TEST((!at(8, 8, 4, 2) && !at(8, 8, 4, 1, "ucx:tcp")));
  BOOST_TEST((!at(8, 8, 1) && !at(8, 8, 16) && at(8, 8, 8)));  // cores of its own; shared by far more; by twice as many
  BOOST_TEST(!t.find({collective::broadcast, "shm", 2, 1, 1, 8}));
}

BOOST_AUTO_TEST_CASE(what_was_measured_goes_before_any_price) {
  const table t = some_table();
  choice_inputs in = a_call(t, 8, 1024);
  const auto best = chosen(collective::allreduce, in);
  BOOST_TEST(to_string(best[0]) == "tree, radix 1");
  BOOST_TEST((best[0].measured_us && *best[0].measured_us == 1.5));
  BOOST_TEST(has(best[0].why, "measured with 8 ranks and 1024 bytes, 2026-11-23T10:00:00Z on a"));
  BOOST_TEST((best[1].row->name == "recursive_doubling" && best[2].row->name == "ring" && !best[3].measured_us));
  BOOST_TEST(to_string(chosen(collective::barrier, a_call(t, 8, 0))[0]) == "dissemination");
  in.commutative = false;  // what cannot run stays out, however fast
  for (const candidate& c : chosen(collective::allreduce, in)) BOOST_TEST((c.runnable || !c.measured_us));
  in = a_call(t, 8, 1 << 20);  // beyond
  for (const candidate& c : chosen(collective::allreduce, in)) BOOST_TEST(!c.measured_us);
  in = a_call(t, 8, 8);
  in.wanted = {"ring", 0, ""};
  BOOST_TEST(chosen(collective::allreduce, in)[0].row->name == "ring");
}

BOOST_AUTO_TEST_CASE(on_a_tie_what_needs_no_repair_wins) {
  table t;
  const auto best = [&](double multicast, double binomial) {
    t.rows = {measured(collective::broadcast, 8, 8, {{"multicast", multicast}, {"binomial", binomial}})};
    choice_inputs in = a_call(t, 8, 8);
    in.multicast = true, in.fragment = 1024;
    return chosen(collective::broadcast, in)[0].row->name;
  };
  BOOST_TEST(best(10, 10.4) == "binomial");
  BOOST_TEST(best(10, 10.6) == "multicast");
}

BOOST_AUTO_TEST_CASE(a_calibration_replaces_priors_where_it_has_values) {
  const table t = some_table();
  choice_inputs in;
  in.node = {1, 2, 3, 4};
  choose_by(in, &t, "shm");
  BOOST_TEST((in.node.latency_us == 0.25 && in.node.overhead_us == 2 && in.node.bytes_per_ns == 4));
  choice_inputs other;
  other.node = {1, 2, 3, 4};
  choose_by(other, &t, "ofi:tcp");
  BOOST_TEST(other.node.latency_us == 1);
}

namespace {

// What each rank's job::open() gives, where rank r has options of its own.
std::vector<std::string> outcomes(std::uint32_t n, const std::function<void(rank_t, job_options&)>& prepare) {
  auto boots = make_thread_bootstraps(n);
  std::vector<std::string> out(n);
  std::vector<std::thread> ranks;
  for (rank_t r = 0; r < n; ++r)
    ranks.emplace_back([&, r] {
      const config_option provider{"provider", "shm"};
      const auto settings = config::load({&provider, 1}, environment{});
      job_options options;
      options.setup_timeout = std::chrono::seconds(20);
      prepare(r, options);
      auto j = job::open(std::move(boots[r]), *settings, std::move(options));
      out[r] = j ? "" : j.error().text();
      if (j) (void)(*j)->world().settle();
    });
  for (std::thread& t : ranks) t.join();
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_with_unlike_tables_are_refused_by_the_names_of_their_hosts) {
  for (const std::string& text : outcomes(4, [](rank_t r, job_options& o) { o.tuning = r == 2 ? 0 : 7; })) {
    char host[65] = {};
    BOOST_REQUIRE(gethostname(host, 63) == 0);
    BOOST_TEST(has(text, std::string("that of ") + host + " (rank 2 has none) is not that of " + host + " (rank 0)"), text);
    BOOST_TEST(has(text, "TUTTI_TUNING"), text);
  }
  for (const std::string& text : outcomes(3, [](rank_t, job_options& o) { o.tuning = 7; })) BOOST_TEST(text == "");
}

BOOST_AUTO_TEST_CASE(who_cannot_read_its_table_ends_the_others_wait) {
  const auto all = outcomes(3, [](rank_t r, job_options& o) {
    if (r == 1) o.trouble = {errc::invalid, "a bad table"};
  });
  BOOST_TEST(all[1] == "a bad table");
  BOOST_TEST((has(all[0], "rank 1 could not join") && has(all[2], "rank 1 could not join")));
}

namespace {

// Between ranks 0 and 2 of three.
tools::multicast_costs multicast_of(const std::function<void(sim::parameters&)>& change) {
  sim::parameters p;
  p.ranks = 3, p.mcast_latency_us = 2;
  change(p);
  tools::multicast_costs out;
  sim::world w(p);
  const status ran = tools::run_ranks(w, [&](rank_t r) {
    const auto j = tools::join_simulated(w, r, {});
    auto costs = tools::measure_multicast(j->world(), 2);
    if (r == 0) out = std::move(costs);
    tools::need(j->world().settle());
  });
  BOOST_REQUIRE_MESSAGE(ran.ok(), ran.text());
  return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(multicast_is_measured_as_prices_mean_it) {
  sim::parameters known;
  const auto found = multicast_of([&](sim::parameters& p) { known = p; });
  BOOST_TEST(found.one_way_us.median() == known.mcast_latency_us + 2 * known.cost.overhead_us, boost::test_tools::tolerance(0.02));
  const double full = known.mcast_payload;
  BOOST_TEST(found.bytes_per_ns.median() == full / (known.cost.gap_us * 1e3 + full / known.cost.bytes_per_ns), boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(what_of_multicast_cannot_be_measured_is_left_out) {
  for (const double loss : {1.0, 0.05}) {
    const auto lossy = multicast_of([&](sim::parameters& p) { p.mcast_loss = loss; });
    BOOST_TEST(lossy.one_way_us.count() == 0u);
    BOOST_TEST(lossy.bytes_per_ns.count() == 0u);
  }
  const auto rarely = multicast_of([](sim::parameters& p) { p.mcast_loss = 1e-4; });
  BOOST_TEST(rarely.one_way_us.count() > 7u);
  const auto none = multicast_of([](sim::parameters& p) { p.multicast = false; });
  BOOST_TEST(none.one_way_us.count() == 0u);
}
