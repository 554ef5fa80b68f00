// How processes learn what all have for them: every byte reaches whom it is for, by either way, at every size, with
// datagrams lost and epochs left out; all learn whether anybody objects to words alone; nobody leaves before all have
// entered; and the choice among the ways.
#include <boost/test/unit_test.hpp>

#include "bsp/metadata_cost.h"
#include "bsp/metadata_exchange.h"
#include "bsp/way_forecast.h"
#include "bsp/wire.h"
#include "tests/collectives/job_env.h"
#include "tests/harness/sim_fabric.h"

namespace {

using namespace tutti;
using namespace tutti::test;
using bsp::metadata_exchange;
using bsp::metadata_way;

// Sparse: mostly nothing, so that supersteps in which nobody has anything for some occur as well.
std::uint8_t flags_of(std::uint64_t epoch, std::uint32_t from, std::uint32_t to) {
  std::mt19937_64 g(epoch * 1000003 + from * 1009 + to);
  return epoch % 3 == 0 ? 0 : g() % 4 ? 0 : static_cast<std::uint8_t>(g());
}

// Nobody, one process, any of them, or all but one. In turn with flags and without.
bool objects(std::uint64_t epoch, std::uint32_t rank, std::uint32_t n) {
  std::mt19937_64 g(epoch * 7919);
  const std::uint64_t one = g() % n, some = g();
  switch (epoch % 4) {
    case 0: return false;
    case 1: return rank == one;
    case 2: return (some >> rank % 64 & 1) != 0;
    default: return rank != one;
  }
}

bool anybody_objects(std::uint64_t epoch, std::uint32_t n) {
  for (std::uint32_t r = 0; r < n; ++r)
    if (objects(epoch, r, n)) return true;
  return false;
}

// An epoch that is left out is a barrier of another kind.
bool left_out(std::uint64_t epoch) { return epoch % 16 == 10 || epoch % 16 == 12 || epoch % 16 == 13; }

void exchange_epochs(rank_env& env, metadata_way way, std::uint64_t epochs, const attendance& entered) {
  auto j = open_job(env);
  const std::uint32_t n = env.size;
  auto made = way == metadata_way::dissemination ? bsp::make_dissemination(j->world()) : bsp::make_multicast(j->world());
  auto e = take(std::move(made), "made");
  std::vector<std::uint8_t> to(n), from(n);
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    if (left_out(epoch)) {
      env.barrier();
      continue;
    }
    if (env.random() % 4 == 0) env.pause(std::chrono::microseconds(env.random() % 200));
    for (std::uint32_t q = 0; q < n; ++q) to[q] = flags_of(epoch, env.rank, q), from[q] = 0xee;
    entered.enter(env.rank, epoch);
    e->begin(epoch, to, objects(epoch, env.rank, n));
    const wait_note note{"metadata", no_rank, 0, epoch};
    require(j->wait([&] { return e->advance(from); }, [&] { return j->world().look(e->awaited()); }, note), "wait");
    require(e->outcome(), "what was sent");
    entered.left(epoch);
    require_equal(e->objected(), anybody_objects(epoch, n), "whether anybody objects in epoch " + std::to_string(epoch));
    for (std::uint32_t p = 0; p < n; ++p)
      if (p != env.rank)
        require_equal(from[p], flags_of(epoch, p, env.rank), "flags of " + std::to_string(p) + " in epoch " + std::to_string(epoch));
  }
  require(j->world().settle(), "settle");
}

void on_sim(std::uint32_t n, metadata_way way, sim::parameters p, std::uint64_t epochs = 30) {
  p.ranks = n;
  const attendance entered(n);
  BOOST_TEST_INFO(n << " processes, seed " << p.seed);
  const auto report = try_ranks_simulated(p, [&](rank_env& env) { exchange_epochs(env, way, epochs, entered); });
  BOOST_TEST(report.passed(), report.text());
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_size) {
  for (const metadata_way way : {metadata_way::dissemination, metadata_way::multicast})
    for (const std::uint32_t n : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 16u, 17u, 33u}) on_sim(n, way, {}, 20);
}

BOOST_AUTO_TEST_CASE(hostile_fabrics_and_lost_datagrams) {
  for (const bool progress : {false, true})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      sim::parameters p;
      p.seed = seed, p.jitter = 4, p.noise_us = 3, p.refuse = 0.1, p.queue_depth = 8;
      p.mcast_loss = 0.4, p.mcast_duplicate = 0.2, p.mcast_reorder = 0.3;
      p.target_must_progress = progress;
      on_sim(6, metadata_way::multicast, p);
      on_sim(6, metadata_way::dissemination, p);
    }
}

// Blocks do not fit into a datagram: it has a bit for each process, and those that are meant read theirs.
BOOST_AUTO_TEST_CASE(small_datagrams) {
  for (const double loss : {0.0, 0.4}) {
    sim::parameters p;
    p.mcast_payload = 64, p.mcast_loss = loss;
    on_sim(20, metadata_way::multicast, p);
  }
}

BOOST_AUTO_TEST_CASE(in_shared_memory) {
  for (const metadata_way way : {metadata_way::dissemination, metadata_way::multicast}) {
    const attendance entered(5);
    run_ranks({"shm"}, 5, [&](rank_env& env) { exchange_epochs(env, way, 500, entered); });
  }
}

BOOST_AUTO_TEST_CASE(without_multicast_it_is_refused_alike) {
  sim::parameters p;
  p.ranks = 3, p.multicast = false;
  const auto report = try_ranks_simulated(p, [&](rank_env& env) {
    auto j = open_job(env);
    const auto made = bsp::make_multicast(j->world());
    require(!made.ok() && made.error().code() == errc::unsupported, "refused");
    env.barrier();
  });
  BOOST_TEST(report.passed(), report.text());
}

namespace {

// 0: there is no multicast.
bsp::metadata_costs at(const loggp& link, double multicast_us, bool loads = false) {
  return {in_picoseconds(link), multicast_us > 0 ? std::optional(in_picoseconds(multicast_us)) : std::nullopt, loads};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_choice) {
  using bsp::choose_metadata_way;
  const loggp network{2.0, 0.3, 0.2, 10}, memory{0.2, 0.02, 0.02, 20};
  BOOST_TEST((choose_metadata_way(1, at(network, 3)) == metadata_way::direct));
  BOOST_TEST((choose_metadata_way(2, at(network, 3)) == metadata_way::direct));
  BOOST_TEST((choose_metadata_way(4, at(network, 3)) == metadata_way::direct));
  BOOST_TEST((choose_metadata_way(64, at(network, 0)) == metadata_way::dissemination));  // no multicast
  BOOST_TEST((choose_metadata_way(40, at(network, 1.5)) == metadata_way::multicast));
  BOOST_TEST((choose_metadata_way(10000, at(network, 3)) == metadata_way::dissemination));  // the root takes in too many
  BOOST_TEST((choose_metadata_way(16, at(memory, 1, true)) == metadata_way::direct));
  // Once direct words are too many they stay so.
  bool beyond = false;
  for (std::uint32_t n = 2; n < 2000; ++n) {
    const bool direct = choose_metadata_way(n, at(network, 0)) == metadata_way::direct;
    BOOST_TEST(!(beyond && direct));
    beyond = beyond || !direct;
  }
}

// What words besides cost is what decides: from as many on as the choice at open was cheaper by.
BOOST_AUTO_TEST_CASE(from_when_words_alone_are_cheaper) {
  using bsp::metadata_cost;
  using bsp::words_pay_from;
  const loggp network{2.0, 0.3, 0.2, 10}, dear_words{0.1, 0.5, 0.1, 10};
  BOOST_TEST(words_pay_from(metadata_way::direct, 64, at(network, 3)) == 0);
  // 3 rounds of 1.1 against 7 words of 0.5 and 1.1 for the last one's way
  BOOST_TEST(words_pay_from(metadata_way::dissemination, 8, at(dear_words, 0)) == 3);
  BOOST_TEST(words_pay_from(metadata_way::multicast, 8, at(dear_words, 0.1)) == 4);
  BOOST_TEST(words_pay_from(metadata_way::dissemination, 8, at(network, 0)) == 0);  // dearer even without any
  for (const loggp& link : {network, dear_words})
    for (std::uint32_t n = 3; n < 300; ++n) {
      const bsp::metadata_costs c = at(link, 1.5);
      const metadata_way way = bsp::choose_metadata_way(n, c);
      const std::uint32_t from = words_pay_from(way, n, c);
      BOOST_TEST((from == 0) == (way == metadata_way::direct));
      BOOST_TEST(from < n);  // a total exchange always goes by words
      const picoseconds words = metadata_cost(metadata_way::direct, n, 0, c);
      BOOST_TEST(metadata_cost(way, n, from, c) >= words);
      if (from > 0) BOOST_TEST(metadata_cost(way, n, from - 1, c) < words);
    }
}

namespace {

// How many of so many supersteps are guessed wrong: 'o' somebody objects, '.' nobody does, over and over.
std::uint32_t wrong_guesses(bsp::way_forecast& f, std::string_view turn, std::uint32_t turns) {
  std::uint32_t wrong = 0;
  for (; turns > 0; --turns)
    for (const char c : turn) {
      wrong += f.objection() != (c == 'o');
      f.saw(c == 'o');
    }
  return wrong;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_forecast) {
  using bsp::way_forecast;
  BOOST_TEST(way_forecast{}.objection());
  for (const std::string_view turn : {"o", ".", "o.", "oo.", "..o", "o.o..", "oooo.", "oo...", "...o"}) {
    way_forecast f;
    wrong_guesses(f, turn, 8);
    BOOST_TEST(wrong_guesses(f, turn, 100) == 0u, turn << " is known after a few turns");
  }
  way_forecast same;
  BOOST_TEST(wrong_guesses(same, "o", 100) == 0u);
  BOOST_TEST(wrong_guesses(same, ".", 100) == 1u);  // a program of total exchanges: all but the first by words
  BOOST_TEST(wrong_guesses(same, "o", 100) == 1u);
  for (int again = 0; again < 5; ++again)           // long stretches: one where each begins
    BOOST_TEST(wrong_guesses(same, "....................oooooooooooooooooooo", 1) == 2u);
  // Nothing to learn from: no worse than to guess.
  std::mt19937_64 g(1);
  way_forecast f;
  std::uint32_t wrong = 0;
  for (int i = 0; i < 10000; ++i) wrong += wrong_guesses(f, g() % 2 ? "o" : ".", 1);
  BOOST_TEST(wrong < 5300u);
}

BOOST_AUTO_TEST_CASE(a_word_keeps_what_it_says) {
  using namespace bsp;
  for (const std::uint64_t epoch : {std::uint64_t{1}, std::uint64_t{65537}, (std::uint64_t{1} << 55) - 1})
    for (const bool objects : {false, true}) {
      for (unsigned flags = 0; flags < 256; ++flags) {
        const std::uint64_t metadata = make_metadata(epoch, static_cast<std::uint8_t>(flags), objects);
        BOOST_TEST((epoch_of(metadata) == epoch && flags_of(metadata) == flags && objects_in(metadata) == objects));
      }
      const std::uint64_t stamp = make_stamp(epoch, objects);
      BOOST_TEST((stamp_epoch(stamp) == epoch && stamp_objects(stamp) == objects));
    }
}
