// Matching against a model that looks through lists.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <deque>
#include <list>
#include <random>
#include <vector>

#include "messaging/matching.h"

namespace {

using namespace tutti;
using namespace tutti::messaging;

bool matches(const posted_receive& r, const arrival& a) {
  return r.team == a.team && (r.source == no_rank || r.source == a.source) && ((r.tag ^ a.tag) & r.mask) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_programs_match_as_lists_do) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    matching m;
    std::deque<posted_receive> receives;
    std::deque<arrival> arrivals;
    std::list<posted_receive*> posted;
    std::list<arrival*> waiting;
    const std::uint64_t teams = 1 + random() % 3, tags = 1 + random() % 6, sources = 1 + random() % 4;
    const std::uint64_t bias = random() % 3;  // few of one kind, many of the other, or alike
    for (int step = 0; step < 1500; ++step) {
      BOOST_REQUIRE(m.make_room());
      const std::uint64_t what = random() % 10;
      if (what == 0 && !posted.empty()) {
        auto at = posted.begin();
        std::advance(at, random() % posted.size());
        m.withdraw(**at);
        posted.erase(at);
      } else if (what == 1 && !waiting.empty()) {
        auto at = waiting.begin();
        std::advance(at, random() % waiting.size());
        m.remove(**at);
        waiting.erase(at);
      } else if (what < 4 + 2 * bias) {
        posted_receive& r = receives.emplace_back();
        r.team = random() % teams, r.tag = random() % tags, r.source = random() % 3 ? static_cast<rank_t>(random() % sources) : no_rank;
        const std::uint64_t masks[] = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0, 1};
        r.mask = masks[random() % 5];
        const auto due = std::ranges::find_if(waiting, [&](arrival* a) { return matches(r, *a); });
        arrival* const found = m.find_arrival(r.team, r.source, r.tag, r.mask);
        BOOST_REQUIRE_MESSAGE(found == (due == waiting.end() ? nullptr : *due), "seed " << seed << " step " << step);
        if (found) m.remove(*found), waiting.erase(due);
        else m.post(r), posted.push_back(&r);
      } else {
        arrival& a = arrivals.emplace_back();
        a.team = random() % teams, a.tag = random() % tags, a.source = static_cast<rank_t>(random() % sources);
        const auto due = std::ranges::find_if(posted, [&](posted_receive* r) { return matches(*r, a); });
        posted_receive* const found = m.take_posted(a.team, a.source, a.tag);
        BOOST_REQUIRE_MESSAGE(found == (due == posted.end() ? nullptr : *due), "seed " << seed << " step " << step);
        if (found) posted.erase(due);
        else m.enter(a), waiting.push_back(&a);
      }
      BOOST_REQUIRE_EQUAL(m.posted(), posted.size());
      BOOST_REQUIRE_EQUAL(m.arrivals(), waiting.size());
    }
    std::size_t seen = 0;
    m.each_posted([&](posted_receive& r) { ++seen, m.withdraw(r); });
    BOOST_TEST(seen == posted.size());
    BOOST_TEST(m.posted() == 0u);
  }
}

namespace {

// Nanoseconds to match one message, in an order that is as bad as any, while `count` receives stay posted, or `count` arrivals wait.
double time_of(std::size_t count, bool receives_first) {
  matching m;
  std::vector<posted_receive> receives(count + 1);
  std::vector<arrival> arrivals(count + 1);
  const auto post = [&](std::size_t i) {
    (void)m.make_room();
    receives[i].tag = i, receives[i].source = i % 2 ? no_rank : 7;
    m.post(receives[i]);
  };
  const auto arrive = [&](std::size_t i) {
    (void)m.make_room();
    arrivals[i].tag = i, arrivals[i].source = 7;
    m.enter(arrivals[i]);
  };
  for (std::size_t i = 0; i < count; ++i) receives_first ? post(i) : arrive(i);
  constexpr std::size_t turns = 20'000;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t t = 0; t < turns; ++t) {
    const std::size_t i = count - 1 - t % count;  // the newest first
    if (receives_first) {
      BOOST_REQUIRE(m.take_posted(0, 7, i) == &receives[i]);
      post(i);
    } else {
      BOOST_REQUIRE(m.find_arrival(0, i % 2 ? no_rank : 7, i, ~std::uint64_t{0}) == &arrivals[i]);
      m.remove(arrivals[i]);
      arrive(i);
    }
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / turns;
}

}  // namespace

// A list would take a thousand times as long. Medians of nothing: the machine may be busy, so the bound is wide.
BOOST_AUTO_TEST_CASE(ten_thousand_cost_what_ten_cost) {
  for (const bool receives_first : {true, false}) {
    const double few = time_of(10, receives_first), many = time_of(10'000, receives_first);
    BOOST_TEST_MESSAGE((receives_first ? "posted receives" : "arrivals") << ": 10: " << few << " ns, 10,000: " << many << " ns a match");
    BOOST_TEST(many < 60 * few);
  }
}
