// The way of the metadata follows the traffic: on fabrics where bytes by dissemination, or by multicast, are the cheapest way
// of an empty superstep, supersteps go by words alone where all are likely to have something for most others.
// bsp_pattern [Boost.Test's options] [-- [--seeds K] [--from S] [--fabric NAME]]: random programs on K simulated fabrics, and
// K times on each fabric that can be used here, or on this one
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>

#include "bsp/engine.h"
#include "core/transport/forwarding_transport.h"
#include "core/transport/multicast.h"
#include "tests/bsp/model.h"
#include "tests/bsp/near_fabric.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/arguments.h"
#include "tests/harness/composed.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using bsp::metadata_way;

constexpr std::uint32_t n = 8;

// How many operations its rank submitted.
class counting final : public forwarding_transport {
 public:
  counting(std::unique_ptr<transport> net, std::uint64_t& taken) : forwarding_transport{std::move(net)}, taken_{taken} {}
  std::size_t submit(std::span<const rma_op> ops) noexcept override {
    const std::size_t took = inner().submit(ops);
    taken_ += took;
    return took;
  }

 private:
  std::uint64_t& taken_;
};

// A fabric that claims other costs, and loses some datagrams at their sender.
class says_it_costs final : public forwarding_transport, public multicast {
 public:
  says_it_costs(std::unique_ptr<transport> net, const loggp& cost)
      : forwarding_transport{std::move(net)}, caps_{inner().caps()} {
    caps_.cost = cost;
  }
  const capabilities& caps() const noexcept override { return caps_; }
  multicast* mcast() noexcept override { return inner().mcast() ? this : nullptr; }
  limits query() const noexcept override {
    limits l = below().query();
    l.latency_us = 0.1;
    return l;
  }
  result<group_id> create(const rank_map& m, std::vector<std::byte>& token, time_point end) override {
    return below().create(m, token, end);
  }
  result<group_id> join(const rank_map& m, std::span<const std::byte> token, time_point end) override {
    return below().join(m, token, end);
  }
  bool send(group_id g, std::uint32_t tag, std::span<const std::byte> p) noexcept override {
    return ++sent_ % 20 == 0 || below().send(g, tag, p);
  }
  bool receive(group_id g, datagram& d) noexcept override { return below().receive(g, d); }
  void leave(group_id g) noexcept override { below().leave(g); }

 private:
  multicast& below() const noexcept { return *const_cast<says_it_costs*>(this)->inner().mcast(); }

  capabilities caps_;
  unsigned sent_ = 0;
};

// What each process puts in a superstep: to so many processes, from the next one on.
struct stretch {
  std::uint32_t supersteps;
  std::uint32_t to;
  bool one_idles = false;  // process 5 puts nothing
  bool hp = false;         // by bsp_hpput, for which syncs may have to send words of their own from then on
};
constexpr stretch program[] = {
    {8, 7}, {8, 0}, {8, 7}, {8, 1}, {8, 7}, {3, 1}, {1, 7}, {1, 0}, {5, 7}, {2, 4}, {2, 7, true}, {4, 7}, {3, 2}, {6, 7},
    {2, 0}, {3, 7, false, true}, {2, 0}, {2, 7},
};

bool nobody_objects(const stretch& s, std::uint32_t from) { return s.to >= from && !s.one_idles; }

// `from`: words besides, from which on words alone are cheaper.
void switches(rank_env& env, metadata_way way, std::uint32_t from) {
  std::uint64_t taken = 0;
  env.wrap([&](auto net) { return std::make_unique<counting>(std::move(net), taken); });
  auto j = open_job(env);
  auto e = take(bsp::engine::open(j->world(), {}), "engine");
  const auto must = [&](bool ok) { require(ok, e->error().text()); };
  require(e->way() == way, "the way of an empty superstep is the one that this test is about");
  const std::uint32_t me = e->pid();
  std::vector<std::uint64_t> area(n);
  must(e->push_reg(area.data(), 8 * n) && e->sync());
  require_equal(e->by_words_instead(), 0, "the first superstep goes by the way chosen at open");
  bsp::way_forecast forecast;
  forecast.saw(false);  // everyone told everyone sizes
  bool any_hp = false;
  std::uint64_t step = 0, by_bytes_ns = 0, by_words_ns = 0;
  for (const stretch& s : program)
    for (std::uint32_t k = 0; k < s.supersteps; ++k) {
      const std::string where = "superstep " + std::to_string(++step);
      const bool words = !forecast.objection();
      if (k > 0 && s.supersteps >= 8) require_equal(words, nobody_objects(s, from), where + ": as in the one before");
      const auto puts = [&](std::uint32_t pid) { return s.one_idles && pid == 5 ? 0 : s.to; };
      std::fill(area.begin(), area.end(), 0);
      env.barrier();
      const std::uint64_t value = step << 8 | me;
      for (std::uint32_t d = 1; d <= puts(me); ++d) {
        const std::uint32_t to = (me + d) % n;
        must(s.hp ? e->hpput(to, &value, area.data(), 8 * me, 8) : e->put(to, &value, area.data(), 8 * me, 8));
      }
      any_hp = any_hp || s.hp;
      env.barrier();
      const std::uint64_t before = taken;
      const time_point entered = j->net().now();
      const std::uint64_t instead = e->by_words_instead();
      must(e->sync());
      const auto ns = static_cast<std::uint64_t>((j->net().now() - entered).count());
      require_equal(e->by_words_instead() - instead, words, where + ": by words alone");
      const std::uint32_t others = way == metadata_way::dissemination ? 3 : me ? 1 : 0;
      if (!any_hp) require_equal(taken - before, words ? n - 1 : puts(me) + others, where + ": messages of a sync");
      if (s.to == n - 1 && !any_hp && !s.one_idles) (words ? by_words_ns : by_bytes_ns) = ns;
      for (std::uint32_t p = 0; p < n; ++p) {
        const bool came = p != me && (me + n - p) % n <= puts(p);
        require_equal(area[p], came ? step << 8 | p : 0, where + ": from process " + std::to_string(p));
      }
      forecast.saw(!nobody_objects(s, from));
    }
  require(by_words_ns < by_bytes_ns, "a total exchange by words alone takes " + std::to_string(by_words_ns) + " ns, else " +
                                         std::to_string(by_bytes_ns));
  env.barrier();
  must(e->leave());
}

// Programs of dense and nearly empty supersteps, one after the other on one engine. `in_place`: chunks are read where they were
// packed, so no words go besides, and nothing is gained by words alone.
void run_programs(rank_env& env, metadata_way way, std::uint64_t first_seed, std::uint32_t programs, bool in_place = false) {
  auto j = open_job(env);
  auto e = take(bsp::engine::open(j->world(), {}), "engine");
  require(e->way() == way, "the way of an empty superstep is the one that this test is about");
  for (std::uint32_t k = 0; k < programs; ++k)
    run_random_program(*e, first_seed + k,
                       {.supersteps = 8, .most_bytes = k % 8 == 7 ? 20000u : 400u, .most_calls = 10 * e->nprocs()});
  const std::uint64_t words = e->by_words_instead(), all = e->supersteps();
  const std::string counts = std::to_string(words) + " of " + std::to_string(all) + " supersteps by words alone";
  if (in_place) require(words == 0, counts + "; none is to go so");
  else require(words > all / 10 && words < all * 9 / 10, counts + "; both ways are to occur");
  const bool left = e->leave();
  require(left, e->error().text());
}

struct priced {
  metadata_way way;
  loggp cost;                    // at which it is the cheapest of an empty superstep
  const loggp* in_place = nullptr;  // the same where memory is read in place; null: it never is
};

void run_programs_on(const fabric_spec& fabric, std::uint32_t processes, const priced& p, std::uint64_t seed,
                     std::uint32_t programs) {
  run_ranks(fabric, processes, [&](rank_env& env) {
    if (p.way == metadata_way::multicast && (!env.net().mcast() || env.net().caps().target_must_progress))
      skip("no multicast, or none that is chosen");
    area a = env.allocate(64);
    const bool in_place = env.net().map(a.segment, (env.rank + 1) % env.size) != nullptr;
    env.barrier();
    env.drop(a);
    if (in_place && !p.in_place) skip("where memory is read in place words cost less than multicast");
    env.wrap([&](auto net) { return std::make_unique<says_it_costs>(std::move(net), in_place ? *p.in_place : p.cost); });
    run_programs(env, p.way, 600000 + 100 * seed, programs, in_place);
  }, {.timeout = std::chrono::seconds(60) * time_scale, .seed = seed});
}

void on_near_fabric(bool multicast, const rank_body& body) {
  const auto report = try_ranks_simulated(near_fabric(n, 1, multicast), body);
  BOOST_TEST(report.passed(), report.text());
}

}  // namespace

BOOST_AUTO_TEST_CASE(stretches_of_total_exchanges) {
  on_near_fabric(false, [](rank_env& env) { switches(env, metadata_way::dissemination, 3); });
  on_near_fabric(true, [](rank_env& env) { switches(env, metadata_way::multicast, 4); });
}

// A turn of a loop: an empty superstep and a total exchange, as when machines are measured (ledger.cpp). Soon each goes by
// its own way.
BOOST_AUTO_TEST_CASE(a_loop_of_both) {
  on_near_fabric(true, [](rank_env& env) {
    auto j = open_job(env);
    auto e = take(bsp::engine::open(j->world(), {}), "engine");
    std::vector<std::uint64_t> area(n);
    bool ok = e->push_reg(area.data(), 8 * n) && e->sync();
    for (std::uint64_t turn = 1; ok && turn <= 40; ++turn) {
      const std::uint64_t start = e->by_words_instead();
      ok = e->sync();
      const std::uint64_t middle = e->by_words_instead();
      for (std::uint32_t q = 0; ok && q < n; ++q) ok = e->put(q, &turn, area.data(), 8 * e->pid(), 8);
      ok = ok && e->sync();
      if (turn < 10) continue;
      require_equal(middle - start, 0, "empty supersteps by words");
      require_equal(e->by_words_instead() - middle, 1, "total exchanges by words");
      require(area == std::vector<std::uint64_t>(n, turn), "what came");
    }
    ok = ok && e->leave();
    require(ok, e->error().text());
  });
}

// A profile says of each superstep by which way its metadata went.
BOOST_AUTO_TEST_CASE(the_ledger_tells_the_way) {
  for (const bool multicast : {false, true}) {
    const std::string file = (std::filesystem::temp_directory_path() / ("tutti-ledger-" + std::to_string(::getpid()))).string();
    on_near_fabric(multicast, [&](rank_env& env) {
      auto j = open_job(env);
      auto e = take(bsp::engine::open(j->world(), {}), "engine");
      std::vector<std::uint64_t> area(n);
      bool ok = e->push_reg(area.data(), 8 * n) && e->sync();
      bsp::ledger book(n, {}, e->net());
      e->watch(&book, {});
      std::string went;
      for (std::uint64_t step = 0; ok && step < 40; ++step) {
        const std::uint64_t before = e->by_words_instead();
        if (step / 10 % 2)
          for (std::uint32_t q = 0; ok && q < n; ++q) ok = e->put(q, &step, area.data(), 8 * e->pid(), 8);
        ok = ok && e->sync();
        went += e->by_words_instead() > before ? '0' : multicast ? '2' : '1';
      }
      e->watch(nullptr, {});
      status why;
      ok = ok && book.write(*e, file, "simulated", why) && e->leave();
      require(ok, e->error().text());
      require(why, "writing");
      if (e->pid() != 0) return;
      std::string told;
      std::ifstream in(file);
      for (std::string line; std::getline(in, line);)
        if (line.starts_with("[0,")) told += line[line.find_last_of("0123456789")];
      std::filesystem::remove(file);
      require(told == went, "the ways in the profile are " + told + ", those taken " + went);
      require(told.find('0') != told.npos && told.find(multicast ? '2' : '1') != told.npos, "both ways were taken: " + told);
    });
  }
}

BOOST_AUTO_TEST_CASE(schemes_that_name_a_way_keep_it) {
  for (const bsp::scheme how : {bsp::scheme::baseline, bsp::scheme::dissemination, bsp::scheme::multicast})
    on_near_fabric(true, [&](rank_env& env) {
      auto j = open_job(env);
      auto e = take(bsp::engine::open(j->world(), {.how = how}), "engine");
      for (std::uint64_t seed = 1; seed <= 4; ++seed) run_random_program(*e, seed, {.most_calls = 60});
      require_equal(e->by_words_instead(), 0, "supersteps by another way");
      const bool left = e->leave();
      require(left, e->error().text());
    });
}

// Both ways in turn as random traffic has it, exactly and on fabrics that use every freedom.
BOOST_AUTO_TEST_CASE(random_programs) {
  const std::uint64_t from = std::stoull(argument("--from", "1")), seeds = std::stoull(argument("--seeds", "40"));
  for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
    const bool multicast = seed % 2 == 0;
    sim::parameters p = near_fabric(n, seed, multicast);
    if (seed % 4 < 2) make_wild(p, seed % 8 < 4);
    // Where a lost release would wait for the root's next call nothing chooses multicast by itself.
    const metadata_way way = multicast && !p.target_must_progress ? metadata_way::multicast : metadata_way::dissemination;
    const auto report = try_ranks_simulated(p, [&](rank_env& env) {
      run_programs(env, way, 500000 + 100 * seed, 8);
    }, {.timeout = std::chrono::seconds(120) * time_scale, .seed = seed});
    BOOST_TEST(report.passed(), "seed " << seed << ": " << report.text());
  }
}

// Processes that run at the same time, by memory that nobody reads in place.
BOOST_AUTO_TEST_CASE(random_programs_of_processes) {
  for (const priced& p : {priced{metadata_way::dissemination, {0.5, 0.05, 1, 10}}, priced{metadata_way::multicast, {4, 0.05, 3, 10}}})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) run_programs_on({"far(shm)"}, 5, p, seed, 40);
}

// The same over what there is, where only from some 32 processes on metadata goes other than by words: at prices at which they do
// among 4.
BOOST_AUTO_TEST_CASE(random_programs_on_networks) {
  const std::uint64_t from = std::stoull(argument("--from", "1")), seeds = std::stoull(argument("--seeds", "2"));
  const loggp stores{0.2, 0.05, 1, 10};
  for (const fabric_spec& fabric : wanted_fabrics())
    for (const priced& p : {priced{metadata_way::dissemination, {1, 0.05, 1, 10}, &stores}, priced{metadata_way::multicast, {4, 0.05, 2, 10}}})
      for (std::uint64_t seed = from; seed < from + seeds; ++seed) run_programs_on(fabric, 4, p, seed, 20);
}
